"""Honest programs with tests of many styles, as datasets have them. All of them pass."""


def read_styles(text: str) -> dict[str, tuple[str, str, str | None]]:
    """Return for each style the program, the tests, and what `check` gets."""
    found = {}
    for head, *lines in [entry.split("\n") for entry in text.strip().removeprefix("=== ").split("\n=== ")]:
        style, _, entry_point = head.partition(" | ")
        program, tests = ([one for one in lines if one.startswith("|") == is_test] for is_test in (False, True))
        found[style] = "\n".join(program), "\n".join(one[2:] for one in tests), entry_point or None
    return found


HONEST = read_styles(
    r"""
=== helper
def add(a,b): return a+b
| def same(x,y): assert x == y
| def check(candidate): assert candidate(3,4) == 7; same(candidate(1,1),2)
| check(add)
=== loop
def add(a,b): return a+b
| for i in range(3): assert add(i,1)==i+1
=== unittest
def add(a,b): return a+b
| import unittest
| class T(unittest.TestCase):
|     def setUp(self): self.n=1
|     def test_1(self): self.assertEqual(add(self.n,2),3)
|     def test_2(self):
|         with self.assertRaises(TypeError): add('a',1)
| if __name__=='__main__': unittest.main()
=== unittest fn
def add(a,b): return a+b
| import unittest; t=unittest.TestCase(); assert add(3,4) == 7; t.assertEqual(add(1,1),2)
=== exit
def add(a,b): return a+b
| import sys
| if add(1,1)!=2: sys.exit(1)
=== raises
def add(a,b):
    if a is None: raise ValueError("bad a")
    return a+b
| import pytest; from solution import add
| def test_a(): assert add(3,4)==7
| def test_r():
|     with pytest.raises(ValueError, match='bad'): add(None,1)
=== own error
class Bad(ValueError):
    def __init__(s,n): super().__init__(f"bad {n}"); s.n=n
def f(x): raise Bad(x)
| from solution import f, Bad; import pytest
| def test():
|     with pytest.raises(Bad) as e: f(3)
|     assert e.value.n == 3 and str(e.value)=='bad 3'
|     try: f(4)
|     except ValueError as e: assert e.n==4
=== state
import itertools; c=itertools.count(1)
def nxt(): return next(c)
| assert nxt() == 1; assert nxt() == 2
=== seed
import random
def f(): return random.randint(0,10**9)
| import random; random.seed(42); a=f(); random.seed(42); assert random.randint(0,10**9)==a
=== generator
def g():
    i=0
    while True: yield i; i+=1
| import itertools; assert list(itertools.islice(g(),100))==list(range(100)); x=g(); next(x); assert next(x)==1
=== in place
def rot(a,k): a[:]=a[-k:]+a[:-k]
| x=[1,2,3]; rot(x,1); assert x==[3,1,2]
=== in place nested
def f(m):
    for r in m: r.append(0)
    m.append([9])
| m=[[1],[2]]; r=m[0]; f(m); assert m==[[1,0],[2,0],[9]] and r==[1,0] and m[0] is r
=== identity
def f(x): return x
| x=[1]; assert f(x) is x
=== dict in place
def f(d): d['a']=1; d.pop('b')
| d={'b':1}; f(d); assert d=={'a':1}
=== callback
def ap(f,x): return [f(i) for i in x]
| assert ap(lambda v: v*2,[1,2])==[2,4]; assert ap(str,[1])==['1']; assert ap(len,['ab'])==[2]
=== callback raises
def ap(f,x):
    try: return f(x)
    except ValueError as e: return str(e)
| def bad(x): raise ValueError('no')
| assert ap(bad,1)=='no'
=== closure
def make(n):
    def add(x): return x+n
    return add
| f=make(3); assert f(4)==7; assert callable(f)
=== decorator
def twice(f):
    def g(*a): return f(f(*a))
    return g
| @twice
| def inc(x): return x+1
| assert inc(1)==3
=== class attr
class A:
    N=3
    @staticmethod
    def s(x): return x+1
    @classmethod
    def c(cls): return cls()
    @property
    def p(self): return 5
| assert A.N==3 and A.s(1)==2 and A.c().p==5 and isinstance(A(),A) and isinstance(A.c(),A)
=== operators
class V:
    def __init__(s,x,y): s.x,s.y=x,y
    def __add__(s,o): return V(s.x+o.x,s.y+o.y)
    def __mul__(s,k): return V(s.x*k,s.y*k)
    def __rmul__(s,k): return s*k
    def __eq__(s,o): return (s.x,s.y)==(o.x,o.y)
    def __repr__(s): return f'V({s.x}, {s.y})'
    def __len__(s): return 2
    def __getitem__(s,i): return (s.x,s.y)[i]
    def __iter__(s): return iter((s.x,s.y))
    def __abs__(s): return (s.x**2+s.y**2)**.5
    def __bool__(s): return bool(s.x or s.y)
    def __lt__(s,o): return abs(s)<abs(o)
| v=V(1,2)+V(3,4)
| assert v==V(4,6) and V(1,2)*3==V(3,6) and 2*V(1,2)==V(2,4) and repr(v)=='V(4, 6)' and str(v)=='V(4, 6)' and len(v)==2 and v[0]==4 and list(v)==[4,6] and abs(V(3,4))==5 and not V(0,0) and V(1,1)<V(2,2) and sorted([V(2,2),V(1,1)])[0]==V(1,1)
| x,y=v; assert (x,y)==(4,6)
=== list subclass
class S(list):
    def push(self,x): self.append(x)
| s=S(); s.push(1); assert len(s)==1 and s[0]==1 and s==[1]
=== enum
from enum import Enum
class C(Enum): R=1; G=2
def f(): return C.R
| assert f()==C.R and f() is C.R and C.R.value==1 and C['G'].name=='G' and C(2) is C.G and [c.value for c in C]==[1,2]
=== dataclass
from dataclasses import dataclass
@dataclass
class P: x:int; y:int=0
def mk(): return P(1)
| assert mk()==P(1,0) and mk().x==1; p=P(3); p.x=4; assert p.x==4
=== namedtuple
from collections import namedtuple; P=namedtuple('P','x y')
def f(): return P(1,2)
| assert f()==(1,2) and f().x==1 and f()==P(1,2)
=== context manager
class R:
    def __enter__(s): s.o=True; return s
    def __exit__(s,*a): s.o=False; return a[0] is ValueError
| r=R()
| with r as q: assert q.o; raise ValueError('x')
| assert not r.o and q is r
=== contextlib
from contextlib import contextmanager
@contextmanager
def cm(): yield 5
| with cm() as x: assert x==5
=== async
import asyncio
async def g(x): await asyncio.sleep(0); return x+1
| import asyncio; assert asyncio.run(g(1))==2
| async def t(): a,b=await asyncio.gather(g(1),g(2)); assert (a,b)==(2,3)
| asyncio.run(t())
| async def test_x(): assert await g(3)==4
=== printed
def hello(): print('hi')
| import io,contextlib; f=io.StringIO()
| with contextlib.redirect_stdout(f): hello()
| assert f.getvalue()=='hi\n'
=== capsys
def hello(): print('hi')
| def test_h(capsys): hello(); assert capsys.readouterr().out=='hi\n'
=== stdin
def solve(): return int(input())+int(input())
| import sys,io; sys.stdin=io.StringIO('3\n4\n'); assert solve()==7
=== parametrize
def add(a,b): return a+b
| import pytest
| @pytest.mark.parametrize('a,b,c',[(1,2,3),(2,2,4)])
| def test_add(a,b,c): assert add(a,b)==c
=== fixture
class S:
    def __init__(s): s.l=[]
    def push(s,x): s.l.append(x)
    @property
    def size(s): return len(s.l)
| import pytest
| @pytest.fixture
| def s(): return S()
| def test_x(s): s.push(1); assert s.size==1
=== pytest class
def add(a,b): return a+b
| class TestAdd:
|     def setup_method(self): self.n=3
|     def test_a(self): assert add(self.n,1)==4
=== approx
def f(): return 0.1+0.2
| import pytest; assert f()==pytest.approx(0.3); assert [f(),1]==pytest.approx([0.3,1])
=== list node | Solution().rev
class Solution:
    def rev(self, head):
        p=None
        while head: head.next,p,head=p,head,head.next
        return p
| def check(candidate):
|     assert is_same_list(candidate(list_node(list(range(3000)))), list_node(list(range(2999,-1,-1))))
=== own node
class Node:
    def __init__(s,v,n=None): s.v,s.n=v,n
def last(n):
    while n.n: n=n.n
    return n.v
| assert last(Node(1,Node(2)))==2
=== test node
def last(n):
    while n.nx: n=n.nx
    n.v=9; return n
| class Node:
|     def __init__(self,v,nx=None): self.v,self.nx=v,nx
| b=Node(2); a=Node(1,b); r=last(a); assert r is b and b.v==9
=== sum builtin
def sum(a,b): return a+b+0
| assert sum(10,15)==25; assert sum(2,4)==6
=== mutable default
def f(x,acc=[]): acc.append(x); return acc
| assert f(1)==[1]; assert f(2)==[1,2]
=== global import
import math; from collections import deque
def f(): return deque([1,2])
| assert f()==deque([1,2]) and math.isclose(1.0,1.0)
=== true for one
def f(): return True
| assert f()==1
=== fraction
from fractions import Fraction
def f(): return Fraction(2)
| assert f()==2
=== decimal
from decimal import Decimal
def f(): return Decimal(2)
| assert f()==2
=== keys
def f(): return {1:0,2:0}.keys()
| assert f()=={1,2} and list(f())==[1,2] and sorted(f())==[1,2]
=== values map
def f(): return map(int,'12')
| assert list(f())==[1,2]
=== range
def f(): return range(3)
| assert f()==range(3) and list(f())==[0,1,2]
=== counter
from collections import Counter
def f(s): return Counter(s)
| assert f('aab')=={'a':2,'b':1} and f('aab').most_common(1)==[('a',2)]
=== datetime
import datetime
def f(): return datetime.date(2020,1,2)
| from datetime import date; assert f()==date(2020,1,2)
=== lru
from functools import lru_cache
@lru_cache(None)
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
| fib.cache_clear(); assert fib(50)==12586269025; assert fib.cache_info().hits>0
=== bst
class N:
    def __init__(s,v): s.v=v; s.l=s.r=None
class B:
    def __init__(s): s.root=None
    def insert(s,v): s.root=N(v)
    def contains(s,v): return s.root.v==v
| b=B(); b.insert(3); assert b.contains(3) and b.root.v==3 and b.root.l is None
=== json error
import json
def f(s): return json.loads(s)
| import json,pytest
| with pytest.raises(json.JSONDecodeError): f('{')
| with pytest.raises(ValueError): f('{')
=== abc
from abc import ABC, abstractmethod
class Sh(ABC):
    @abstractmethod
    def area(self): ...
class Sq(Sh):
    def __init__(s,a): s.a=a
    def area(s): return s.a**2
| import pytest; assert Sq(3).area()==9 and isinstance(Sq(3),Sh) and issubclass(Sq,Sh)
| with pytest.raises(TypeError): Sh()
=== iterator class
class Cd:
    def __init__(s,n): s.n=n
    def __iter__(s): return s
    def __next__(s):
        if s.n<=0: raise StopIteration
        s.n-=1; return s.n+1
| assert list(Cd(3))==[3,2,1]; c=Cd(2); assert next(c)==2 and c.n==1
=== set of objects
class P:
    def __init__(s,x): s.x=x
    def __eq__(s,o): return isinstance(o,P) and s.x==o.x
    def __hash__(s): return hash(s.x)
| assert len({P(1),P(1),P(2)})==2 and P(1) in [P(1)] and {P(1):2}[P(1)]==2 and P(1)!=1
=== kwargs
def f(*a,**k): return a,k
| assert f(1,b=2)==((1,),{'b':2})
=== gen arg
def f(it): return sum(it)
| assert f(x for x in range(4))==6; assert f(iter([1,2]))==3
=== recursion data
def f(): a=[]; a.append(a); return a
| x=f(); assert x[0] is x
=== bytes
def f(b): return b[::-1]
| assert f(b'ab')==b'ba' and f(bytearray(b'ab'))==bytearray(b'ba')
=== big int
def f(): return 3**10000
| assert f()==3**10000
=== inf nan
def f(): return [float('inf'),float('nan')]
| import math; a,b=f(); assert a==math.inf and math.isnan(b)
=== name doc
def f(): 'doc'; return 1
| assert f.__name__=='f' and f.__doc__=='doc'
=== solution star
X=3
def f(): return X
| from solution import *; assert f()==X==3; import solution; assert solution.f()==3 and solution.X==3
=== tests own main
def f(): return 1
| def run(): assert f()==1
| if __name__=='__main__': run()
=== print in check | add
def add(a,b): return a+b
| def check(candidate): assert candidate(1,2)==3; print('ok')
=== setattr class
class C: count=0
| C.count=5; assert C.count==5 and C().count==5
=== thread
class C:
    def __init__(s): s.n=0
    def inc(s): s.n+=1
| import threading; c=C(); ts=[threading.Thread(target=c.inc) for _ in range(5)]
| [t.start() for t in ts]; [t.join() for t in ts]; assert c.n==5
=== super str
class A(str): pass
def f(): return A('x')
| assert f()=='x' and f().upper()=='X'
=== type check
def f(): return [1]
| assert isinstance(f(),list) and type(f()) is list and isinstance(f()[0],int)
=== async iter
class T:
    async def run(self): return 4
| import asyncio; assert asyncio.run(T().run())==4
=== error type passed
def f(e): raise e('x')
| import pytest
| with pytest.raises(KeyError): f(KeyError)
=== returns class
def f():
    class Q: z=3
    return Q
| Q=f(); assert Q().z==3 and Q.z==3
=== del item
class D:
    def __init__(s): s.d={}
    def __setitem__(s,k,v): s.d[k]=v
    def __getitem__(s,k): return s.d[k]
    def __delitem__(s,k): del s.d[k]
    def __contains__(s,k): return k in s.d
| d=D(); d['a']=1; assert d['a']==1 and 'a' in d; del d['a']; assert 'a' not in d
=== fluent builder
class Query:
    def __init__(self): self.parts = []
    def select(self, *names): self.parts.append("SELECT " + ", ".join(names)); return self
    def where(self, text): self.parts.append("WHERE " + text); return self
    def build(self): return " ".join(self.parts)
| query = Query(); assert query.select("a", "b").where("a > 1").build() == "SELECT a, b WHERE a > 1"
| assert query.select("c") is query and isinstance(query.where("x"), Query) and len(query.parts) == 4
=== slots
class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
| p = Point(1, 2); p.x += 5; assert (p.x, p.y) == (6, 2) and not hasattr(p, "z")
| try: p.z = 1; assert False
| except AttributeError: pass
=== ordered dataclass
from dataclasses import dataclass, field
@dataclass(order=True, frozen=True)
class Version: major: int; minor: int = 0; tags: tuple = field(default=(), compare=False)
def newest(versions): return max(versions)
| import dataclasses, pytest
| assert newest([Version(1, 2), Version(2, 0, ("a",)), Version(1, 9)]) == Version(2) and Version(1) < Version(1, 1)
| assert sorted({Version(2), Version(1)})[0].major == 1 and newest([Version(3, 1)]).tags == ()
| with pytest.raises(dataclasses.FrozenInstanceError): Version(1).major = 2
=== enum results
import enum
class Level(enum.IntEnum): LOW, HIGH = 1, 5
class Flags(enum.Flag): A = enum.auto(); B = enum.auto()
def judge(n): return Level.HIGH if n > 3 else Level.LOW
| assert judge(9) is Level.HIGH and judge(9) > judge(1) and judge(1) == 1 and Level(5).name == "HIGH" and len(Level) == 2
| assert Flags.A | Flags.B == Flags(3) and (Flags.A | Flags.B) & Flags.B == Flags.B and Level.LOW in [judge(0)]
=== total ordering
import functools
@functools.total_ordering
class Card:
    def __init__(self, rank): self.rank = rank
    def __eq__(self, other): return self.rank == other.rank
    def __lt__(self, other): return self.rank < other.rank
| assert Card(3) >= Card(2) and Card(2) <= Card(2) and max(Card(1), Card(9)).rank == 9 and sorted([Card(2), Card(1)])[0].rank == 1
=== cache of the program
class Cache:
    def __init__(self): self.kept = {}
    def get(self, key, default=None): return self.kept.get(key, default)
    def put(self, key, value): self.kept[key] = value
    def pop(self, key): return self.kept.pop(key)
    def count(self): return len(self.kept)
    def keys(self): return self.kept.keys()
    def copy(self): other = Cache(); other.kept = dict(self.kept); return other
    def clear(self): self.kept.clear()
def make_cache(): return Cache()
| cache = Cache(); cache.put("a", 1); cache.put("b", [2])
| assert cache.get("a") == 1 and cache.get("z", 7) == 7 and cache.count() == 2 and set(cache.keys()) == {"a", "b"}
| other = cache.copy(); cache.clear(); assert other.get("b") == [2] and cache.count() == 0 and cache.get("a") is None
=== returned queue
class Queue:
    def __init__(self): self.items = []
    def push(self, one): self.items.append(one); return self
    def pop(self): return self.items.pop(0)
    def get(self, place): return self.items[place]
def make(items): queue = Queue(); [queue.push(one) for one in items]; return queue
| queue = make([3, 1, 2]); assert queue.get(1) == 1; assert queue.pop() == 3 and queue.push(5).pop() == 1
=== least recently used
from collections import OrderedDict
class LRUCache:
    def __init__(self, capacity): self.capacity, self.kept = capacity, OrderedDict()
    def get(self, key): return -1 if key not in self.kept else self.kept.move_to_end(key) or self.kept[key]
    def put(self, key, value):
        self.kept[key] = value; self.kept.move_to_end(key)
        if len(self.kept) > self.capacity: self.kept.popitem(last=False)
| def check(candidate):
|     cache = candidate(2); cache.put(1, 1); cache.put(2, 2); assert cache.get(1) == 1; cache.put(3, 3)
|     assert [cache.get(n) for n in (1, 2, 3)] == [1, -1, 3]
| check(LRUCache)
=== trie
class Trie:
    def __init__(self): self.next, self.ends = {}, False
    def insert(self, word):
        node = self
        for one in word: node = node.next.setdefault(one, Trie())
        node.ends = True
    def walk(self, word): return self if not word else word[0] in self.next and self.next[word[0]].walk(word[1:])
    def search(self, word): return bool(self.walk(word) and self.walk(word).ends)
    def startswith(self, word): return bool(self.walk(word))
| trie = Trie(); trie.insert("apple")
| assert trie.search("apple") and not trie.search("app") and trie.startswith("app") and not trie.startswith("b")
=== send to a generator
def average():
    total = count = 0; found = None
    while True: total += (yield found); count += 1; found = total / count
| mean = average(); next(mean); assert mean.send(10) == 10 and mean.send(20) == 15
=== throw into a generator
def keep():
    while True:
        try: yield "ready"
        except ValueError as error: yield f"caught {error}"
| kept = keep(); assert next(kept) == "ready" and kept.throw(ValueError("x")) == "caught x" and next(kept) == "ready"
=== close a generator
log = []
def read():
    try: yield 1; yield 2
    finally: log.append("closed")
| import pytest; reader = read(); assert next(reader) == 1; reader.close(); assert log == ["closed"]
| with pytest.raises(StopIteration): next(reader)
=== value of a generator
def inner(): yield 1; return "done"
def outer(): found = yield from inner(); yield found
| assert list(outer()) == [1, "done"] and [*inner()] == [1]
=== metaclass
class Registry(type):
    known = {}
    def __new__(cls, name, bases, space): made = super().__new__(cls, name, bases, space); cls.known[name] = made; return made
class Base(metaclass=Registry): pass
class Dog(Base):
    def speak(self): return "woof"
| assert sorted(Registry.known) == ["Base", "Dog"] and Registry.known["Dog"]().speak() == "woof" and issubclass(Dog, Base)
=== property
class Celsius:
    def __init__(self, degrees=0): self.degrees = degrees
    @property
    def fahrenheit(self): return self.degrees * 9 / 5 + 32
    @fahrenheit.setter
    def fahrenheit(self, value): self.degrees = (value - 32) * 5 / 9
| import pytest
| one = Celsius(100); assert one.fahrenheit == 212; one.fahrenheit = 32; assert one.degrees == pytest.approx(0)
=== format
class Money:
    def __init__(self, amount): self.amount = amount
    def __format__(self, spec): return format(self.amount, spec or ".2f") + " EUR"
    def __str__(self): return f"{self}"
    def __repr__(self): return f"Money({self.amount!r})"
| assert str(Money(5)) == "5.00 EUR" and f"{Money(2):.1f}" == "2.0 EUR" and repr(Money(3)) == "Money(3)" and "%s" % Money(1) == "1.00 EUR"
=== match
def describe(value):
    match value:
        case {"kind": "circle", "r": r}: return f"circle {r}"
        case [x, y, *rest] if not rest: return f"pair {x} {y}"
        case int() | float(): return "number"
        case _: return "other"
| ["assert describe({'kind': 'circle', 'r': 2}) == 'circle 2'", "assert describe([1, 2]) == 'pair 1 2'", "assert describe(3.5) == 'number' != describe([1])"]
=== decorator with state
import functools
def counted(f):
    @functools.wraps(f)
    def call(*args, **kwargs): call.calls += 1; return f(*args, **kwargs)
    call.calls = 0; return call
@counted
def add(a, b=1): "Add."; return a + b
| assert add(1) == 2 and add(1, b=5) == 6 and add.calls == 2 and add.__name__ == "add" and add.__doc__ == "Add."
| add.calls = 0; add(3); assert add.calls == 1
=== counter in a closure
def counter(start=0):
    def step(by=1): nonlocal start; start += by; return start
    return step, lambda: start
| step, read = counter(5); assert step() == 6 and step(by=4) == 10 and read() == 10 and counter()[1]() == 0
=== async generator
import asyncio
async def ticks(n):
    for i in range(n): await asyncio.sleep(0); yield i
async def total(n): return sum([i async for i in ticks(n)])
| import asyncio, unittest
| class TestTicks(unittest.IsolatedAsyncioTestCase):
|     async def test_total(self): self.assertEqual(await total(4), 6)
| assert asyncio.run(total(3)) == 3
=== memo
memo = {}
def ways(n):
    if n not in memo: memo[n] = 1 if n < 2 else ways(n - 1) + ways(n - 2)
    return memo[n]
| assert ways(40) == 165580141 and memo[10] == 89 and len(memo) == 41
=== constants
LIMITS = {"low": (0, 9), "high": (10, 99)}; VOWELS, VERSION, names = frozenset("aeiou"), "1.2", ["x", "y"]
def band(n): return next(name for name, (a, b) in LIMITS.items() if a <= n <= b)
| assert [band(n) for n in (3, 50)] == [*LIMITS] and "a" in VOWELS and VERSION.split(".") == ["1", "2"] and names[-1] == "y"
=== changes in place
def dedupe(items): seen = set(); items[:] = [one for one in items if not (one in seen or seen.add(one))]; return items
def merge(one, other): one.update({key: one.get(key, 0) + n for key, n in other.items()})
| items = [3, 1, 3, 2]; assert dedupe(items) is items and items == [3, 1, 2]
| counts = {"a": 1}; assert merge(counts, {"a": 2, "b": 3}) is None and counts == {"a": 3, "b": 3}
=== collections as results
from collections import Counter, OrderedDict, defaultdict, deque
def group(words): found = defaultdict(list); [found[len(one)].append(one) for one in words]; return found
def last(n, items): return deque(items, maxlen=n)
def order(pairs): return OrderedDict(sorted(pairs))
def letters(text): return Counter(text)
| assert group(["a", "bb", "c"]) == {1: ["a", "c"], 2: ["bb"]} and list(last(2, [1, 2, 3])) == [2, 3]
| found = order([("b", 1), ("a", 2)]); assert list(found) == ["a", "b"] and found.popitem() == ("b", 1)
| assert (letters("abca") - letters("a")).most_common(1) == [("a", 1)] and sum(letters("abc").values()) == 3
=== exact numbers
from decimal import Decimal, ROUND_HALF_UP; from fractions import Fraction
def price(text): return Decimal(text).quantize(Decimal("0.01"), ROUND_HALF_UP)
def half(a, b): return Fraction(a, b) / 2
def root(z): return complex(z) ** 0.5
| from decimal import Decimal; from fractions import Fraction; import cmath
| assert price("2.345") == Decimal("2.35") and half(1, 3) == Fraction(1, 6) and half(1, 2).denominator == 4 and str(price("1")) == "1.00"
| assert cmath.isclose(root(-4), 2j, abs_tol=1e-9) and abs(root(9).real - 3) < 1e-9
=== bytes and hashes
import base64, hashlib, struct
def pack(n): return struct.pack(">H", n)
def digest(text): return hashlib.md5(text.encode()).hexdigest()
def flip(data): data.reverse(); return data
| assert pack(258) == b"\x01\x02" and digest("a") == "0cc175b9c0f1b6a831c399e269772661" and flip(bytearray(b"ab")) == b"ba"
=== sets and ranges
def common(*words): return frozenset.intersection(*map(frozenset, words))
def evens(n): return range(0, n, 2)
def index(items): return {one: place for place, one in enumerate(items)}.items()
| assert common("abc", "bcd") == {"b", "c"} and {common("ab", "b"): 1}[frozenset("b")] == 1 and evens(7)[-1] == 6 and len(evens(7)) == 4
| assert sorted(index("ba")) == [("a", 1), ("b", 0)] and ("a", 1) in index("ba") and list(evens(4)) == [0, 2]
=== pipeline
def numbers(text): return (int(one) for one in text.split())
def squares(items): yield from (n * n for n in items)
def pairs(items): items = iter(items); return zip(items, items)
| assert list(squares(numbers("1 2 3"))) == [1, 4, 9] and sum(squares(n for n in range(4))) == 14 and dict(pairs("abcd")) == {"a": "b", "c": "d"}
=== star import
__all__ = ["area", "PI"]; PI = 3
def area(r): return PI * r * r
def _hidden(): return 1
| from solution import *; from solution import _hidden as hidden
| assert area(2) == 12 and PI == 3 and hidden() == 1
=== keys and reducers
def best(items, key=lambda one: one): return max(items, key=key)
def fold(f, items, start): [start := f(start, one) for one in items]; return start
| import operator
| assert best(["aa", "b"], key=len) == "aa" and best([(1, 5), (2, 3)], lambda one: one[1]) == (1, 5) and best([1, 7]) == 7
| assert fold(operator.mul, [2, 3, 4], 1) == 24 and fold(lambda a, b: b + a, "abc", "") == "cba"
=== params
def is_prime(n): return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
| import pytest
| @pytest.mark.parametrize("n", [2, 3, pytest.param(97, id="large")])
| @pytest.mark.parametrize("times", [1, 2])
| def test_prime(n, times): assert is_prime(n) and not is_prime(n * (times + 1))
| class TestMore:
|     @pytest.mark.parametrize(("n", "want"), [(1, False), (0, False), (-7, False)])
|     def test_small(self, n, want): assert is_prime(n) is want
=== input and output
n, *rows = open(0).read().split()
print(sum(map(int, rows[:int(n)])), "%.3f" % (sum(map(int, rows)) / len(rows)))
| {"inputs": ["2\n3 4\n", "1\n5"], "outputs": ["7 3.500", "5 5.000\n"]}
=== lines of input
import sys
def main():
    for line in sys.stdin: print(line.strip()[::-1])
if __name__ == "__main__": main()
| [{"input": "ab\ncd\n", "output": "ba\ndc\n", "type": "stdin_stdout"}]
=== calls
class Solution:
    def rotate(self, nums: list, k: int) -> None: nums[:] = nums[-k:] + nums[:-k]
| {"fn_name": "rotate", "inputs": [[[1, 2, 3], 1], [[1, 2], 2]], "outputs": [[3, 1, 2], [1, 2]]}
=== arguments
def join(a, /, b=2, *rest, sep="-", **more): return sep.join(map(str, [a, b, *rest, *more.values()]))
power = lambda x, n=2: x ** n
| import pytest
| assert join(1) == "1-2" and join(1, 3, 4, sep="+", k=5) == "1+3+4+5" and power(3) == 9 == power(n=2, x=3) and join(*"ab", **{"sep": ""}) == "ab"
| with pytest.raises(TypeError): join()
| with pytest.raises(TypeError): join(a=1)
=== reads and prints
def ask(): name = input("Name? "); print(f"Hi {name}", end="!\n"); return len(name)
| import io, sys; from contextlib import redirect_stdout; sys.stdin, out = io.StringIO("Bo\n"), io.StringIO()
| with redirect_stdout(out): assert ask() == 2
| assert out.getvalue().endswith("Hi Bo!\n")
=== tree of nodes | Solution().depth
class Solution:
    def depth(self, root: Optional[TreeNode]) -> int: return 1 + max(self.depth(root.left), self.depth(root.right)) if root else 0
    def mirror(self, root): return root and TreeNode(root.val, self.mirror(root.right), self.mirror(root.left))
| def check(candidate):
|     assert candidate(tree_node([1, 2, None, 3])) == 3 and candidate(root=None) == 0
|     assert is_same_tree(Solution().mirror(tree_node([1, 2, 3])), tree_node([1, 3, 2]))
=== candidate class | Solution().two_sum
class Solution:
    def two_sum(self, nums, target): seen = {}; return next([seen[target - n], i] for i, n in enumerate(nums) if target - n in seen or seen.update({n: i}))
| def check(candidate):
|     assert candidate(nums = [2, 7, 11, 15],target = 9) == [0, 1]
|     assert candidate(nums = [3, 3],target = 6) == [0, 1]
=== descriptor
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, one, owner): return getattr(one, self.name)
    def __set__(self, one, value):
        if value <= 0: raise ValueError("must be positive")
        setattr(one, self.name, value)
class Item: price = Positive()
| import unittest
| class TestItem(unittest.TestCase):
|     def test_price(self):
|         item = Item(); item.price = 7; self.assertEqual(item.price, 7)
|         with self.assertRaises(ValueError) as caught: item.price = -1
|         self.assertIn("positive", str(caught.exception)); self.assertRaisesRegex(ValueError, "^must", setattr, item, "price", 0)
=== set up and tear down
class Inventory(dict):
    def add(self, name, n=1): self[name] = self.get(name, 0) + n
| import unittest
| class InventoryTestAdd(unittest.TestCase):
|     @classmethod
|     def setUpClass(cls): cls.names = ["a", "b"]
|     def setUp(self): self.inventory = Inventory()
|     def tearDown(self): self.inventory = None
|     def test_add(self):
|         for name in self.names:
|             with self.subTest(name=name): self.inventory.add(name, 2); self.assertEqual(self.inventory[name], 2)
|         self.assertCountEqual(self.inventory, "ba")
| class InventoryTestRemove(unittest.TestCase):
|     def test_remove(self): self.assertRaises(KeyError, Inventory().popitem)
=== fixtures
class Account:
    def __init__(self, balance=0): self.balance, self.history = balance, []
    def deposit(self, n): self.balance += n; self.history.append(n)
| import pytest
| @pytest.fixture
| def account(): return Account(10)
| @pytest.fixture()
| def rich(account): account.deposit(90); yield account; account.history.clear()
| def test_rich(rich): assert rich.balance == 100 and rich.history == [90]
| def test_new(account): assert account.balance == 10
=== generic
from typing import Generic, Optional, TypeVar, overload; T = TypeVar("T")
class Box(Generic[T]):
    def __init__(self, item: Optional[T] = None) -> None: self.item = item
@overload
def twice(x: int) -> int: ...
def twice(x): return x + x
| assert Box[int](3).item == 3 and isinstance(Box(), Box) and twice(2) == 4 and twice("a") == "aa"
=== events
class Events(dict):
    def on(self, name, call): self.setdefault(name, []).append(call); return call
    def emit(self, name, *args): return [call(*args) for call in self.get(name, [])]
| events, seen = Events(), []; events.on("x", seen.append); events.on("x", lambda n: n * 2)
| assert events.emit("x", 4) == [None, 8] and seen == [4] and events.emit("z") == []
=== name of a class
class A: pass
def f(): return A()
| assert f().__class__.__name__ == "A" and type(f()) == A and type(f()) is A and A.__name__ == "A" and A.__module__
=== str of key error
def f(): raise KeyError("a")
| try: f(); assert 0
| except KeyError as e: assert str(e) == "'a'" and e.args[0] == "a"
=== exception group
def f(): raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
| try: f(); assert 0
| except* ValueError as e: assert len(e.exceptions) == 1
| except* TypeError: pass
=== method set by the tests
class A:
    def now(self): return 1
    def go(self): return self.now() + 1
| a = A(); a.now = lambda: 10; assert a.go() == 11
=== function set by the tests
def now(): return 1
def go(): return now() + 1
| import solution; solution.now = lambda: 10; assert go() == 11
=== named tuple of the tests
def norm(p): return p.x ** 2 + p.y ** 2
| from collections import namedtuple; P = namedtuple("P", "x y"); assert norm(P(3, 4)) == 25
=== dataclass of the tests
def total(items): return sum(one.price * one.n for one in items)
| from dataclasses import dataclass
| @dataclass
| class Item: price: int; n: int = 1
| assert total([Item(2), Item(3, 4)]) == 14
=== exit that is expected
import sys
def main(): sys.exit(3)
| import pytest
| with pytest.raises(SystemExit) as e: main()
| assert e.value.code == 3
=== recursion that is expected
def f(n): return f(n + 1)
| import pytest
| with pytest.raises(RecursionError): f(0)
=== thread pool in tests
def sq(x): return x * x
| from concurrent.futures import ThreadPoolExecutor
| with ThreadPoolExecutor(4) as pool: assert list(pool.map(sq, range(20))) == [x * x for x in range(20)]
=== special method by its name
class A:
    def __init__(self): self.n = 0
    def __len__(self): return 3
| a = A(); assert a.__len__() == 3 and A.__init__ and len(a) == 3
=== method as callback
class A:
    def __init__(self): self.seen = []
    def add(self, x): self.seen.append(x)
| a = A(); list(map(a.add, [1, 2])); f = a.add; f(3); assert a.seen == [1, 2, 3]
=== iterate twice
class L:
    def __init__(self, *a): self.a = a
    def __iter__(self): yield from self.a
| l = L(1, 2); assert list(l) == list(l) == [1, 2] and max(l) == 2 and sorted(l, reverse=True) == [2, 1] and dict(enumerate(l)) == {0: 1, 1: 2} and (a := tuple(l)) == (1, 2)
=== dict subclass
class D(dict): pass
def f(): return D(a=1)
| d = D(a=1); d["b"] = 2; del d["a"]; assert d == {"b": 2} and list(d.items()) == [("b", 2)] and "b" in d and d.get("z") is None and f() == {"a": 1}
=== skipped and expected failures
def f(): return 2
| import unittest
| class TestF(unittest.TestCase):
|     def test_f(self): assert f() == 2
|     @unittest.skip("later")
|     def test_g(self): assert f() == 3
|     @unittest.expectedFailure
|     def test_h(self): self.assertEqual(f(), 3)
| if __name__ == "__main__": unittest.main(argv=["x"], exit=False)
=== helper class of the tests
def f(x): return x * 2
| class Checker:
|     def __init__(self, f): self.f = f
|     def check(self, x, want): assert self.f(x) == want; return self
| Checker(f).check(1, 2).check(2, 4)
=== plugins
class Plugin:
    known = []
    def __init_subclass__(cls, **k): super().__init_subclass__(**k); Plugin.known.append(cls)
class A(Plugin): pass
| assert Plugin.known == [A] and Plugin.known[0]().__class__ is A
"""
)
"""A line that begins with `|` is one of the tests. What `check` gets stands next to the name of the style."""
