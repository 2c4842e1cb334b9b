r"""Units and the nouns that say what is counted: `\text{km/h}`, `m^2`, `\$`, `apples`."""

Unit = tuple[tuple[str, int], ...]
"""The names of the units and nouns of a quantity, each with its power, in the order of the names."""

TABLE = r"""
    %           %          | percent percentage pct
    °           °          | degree degrees deg                    | 度
    $           $          | dollar dollars usd bucks
    cent        ¢          | cent cents
    €           €          | euro euros eur
    £           £          | gbp
    ¥           ¥          | yen jpy
    yuan                   | yuan rmb cny                          | 元
    rupee       ₹ Rs rs    | rupee rupees inr
    m+          m          | meter meters metre metres             | 米
    mm                     |                                       | 毫米
    cm                     |                                       | 厘米
    km                     |                                       | 千米 公里
    in          in         | inch inches
    ft          ft         | foot feet
    yd          yd         | yard yards
    mile        mi         | mile miles
    g+          g gm       | gram grams gramme grammes             | 克
    kg                     |                                       | 千克 公斤
    lb          lb lbs     | pound pounds
    oz          oz         | ounce ounces
    pint        pt         | pint pints
    ton                    | ton tons tonne tonnes                 | 吨
    l+          l L \ell   | liter liters litre litres             | 升
    ml                     |                                       | 毫升
    gal         gal        | gallon gallons
    s+          s          | sec secs second seconds               | 秒
    min         min        | mins minute minutes                   | 分钟 分
    h           h hr       | hrs hour hours                        | 小时 时
    day                    | day days                              | 天 日
    week        wk         | week weeks                            | 周
    month                  | month months                          | 月
    year        yr         | yrs year years                        | 年
    hz+         hz Hz      | hertz
    N+          N          | newton newtons
    J+          J          | joule joules
    W+          W          | watt watts
    V+          V          | volt volts
    ampere+     A          | ampere amperes amp amps
    ohm+        \Omega     | ohm ohms
    Pa+         Pa         | pascal pascals
    bar+                   | bar bars
    cal+        cal        | calorie calories
    eV+         eV         |
    mole+       mol        | mole moles
    byte+       B          | byte bytes
    rad         rad        | radian radians
    celsius                | celsius
    fahrenheit             | fahrenheit
    kelvin+     K          | kelvin kelvins
    coulomb+    C          | coulomb coulombs
    farad+      F          | farad farads
    tesla+      T          | tesla teslas
    acre                   | acre acres
    '           '          |
    ''          ''         |
    hectare     ha         | hectare hectares
    mile/h      mph        |
    km/h        kph kmh    | kmph
    kW*h        kWh        |
    N*m         Nm         |
    mile/gal    mpg        |
    ft^2        sqft       |
    cm^3        cc ccm     |
"""
"""
Units with their symbols, their words and their Chinese words.

Prefixes apply to a unit with a plus. A symbol of one letter counts after a number and a space, or in a text; a symbol or
word of up to three letters after a number or another word; other words everywhere.
"""

PREFIXES = {
    **{"k": "kilo", "c": "centi", "m": "milli", "\\mu": "micro", "n": "nano", "d": "deci", "M": "mega", "G": "giga"},
}
SPELLINGS: dict[str, Unit] = {}
"""What each symbol, word and Chinese word means."""

COUNTERS = {*"个只人次种名本张条件支辆间棵颗粒块头匹座台位份组对双套场岁道题步页"}
"""Chinese words that only count what there is. Others may change the value."""

PARTS: set[tuple[str, str]] = {
    ("h", "min"),
    ("min", "s"),
    ("ft", "in"),
    ("lb", "oz"),
    ("$", "cent"),
    ("°", "min"),
    ("day", "h"),
    ("year", "month"),
}
"""Units that make one quantity together with the next smaller one."""

MARKS: dict[str, Unit] = {"'": (("ft", 1),), "''": (("in", 1),)}
"""Marks that are feet and inches if the other answer says so."""


def parse_unit(text: str) -> Unit:
    """Return a unit that is written as in the table: `km/h`, `kW*h`, `cm^3`."""
    above, _, below = text.partition("/")
    factors = [(one, 1) for one in above.split("*")] + [(one, -1) for one in below.split("*") if one]
    return tuple(
        sorted((name, sign * int(power or 1)) for one, sign in factors for name, _, power in [one.partition("^")])
    )


def fill_spellings() -> None:
    for line in TABLE.strip().splitlines():
        name, _, rest = line.strip().partition(" ")
        symbols, words, *chinese = [part.split() for part in rest.split("|")]
        base = name.rstrip("+")
        for one in (*symbols, *words, *sum(chinese, [])):
            SPELLINGS[one] = parse_unit(base)
        for letter, prefix in PREFIXES.items() if name != base else ():
            starts = [(letter, symbols), (prefix, words), (prefix.capitalize(), words)]
            for start, spellings in starts:
                SPELLINGS.update(
                    {start + one: ((letter + base, 1),) for one in spellings if start + one not in SPELLINGS}
                )


fill_spellings()
KNOWN = {name for unit in SPELLINGS.values() for name, _ in unit}
"""Names of units of measure, in contrast to nouns."""

LETTERS = {spelling for spelling in SPELLINGS if len(spelling) == 1 and spelling.isalpha() and spelling.isascii()}
SHORT = {spelling for spelling in SPELLINGS if 2 <= len(spelling) <= 3 and spelling.isascii()}


def find_unit(word: str) -> Unit | None:
    """Return what a symbol or word means, or None for an unknown one. Case matters in symbols, such as `mW` and `MW`."""
    return SPELLINGS.get(word) or (SPELLINGS.get(word.casefold()) if len(word) > 2 else None)


def match_units(gold: Unit, answer: Unit) -> bool:
    """Return whether the unit of an answer is the gold answer's, where one of them may say more about what is counted."""
    gold, answer = (MARKS.get(unit[0][0], unit) for unit in (gold, answer))
    if gold == answer:
        return True
    measures = [{pair for pair in unit if pair[0] in KNOWN} for unit in (gold, answer)]
    if measures[0] or measures[1]:
        return measures[0] == measures[1]
    return bool({*gold} & {*answer})
