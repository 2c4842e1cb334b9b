"""Honest programs with tests of many styles, as datasets have them. All of them pass."""

HONEST = {
    "helper": (
        "def add(a,b): return a+b",
        """
def same(x,y):
    assert x == y
def check(candidate):
    assert candidate(3,4) == 7
    same(candidate(1,1),2)
check(add)
""",
        None,
    ),
    "loop": (
        "def add(a,b): return a+b",
        "for i in range(3): assert add(i,1)==i+1",
        None,
    ),
    "unittest": (
        "def add(a,b): return a+b",
        """
import unittest
class T(unittest.TestCase):
    def setUp(self): self.n=1
    def test_1(self): self.assertEqual(add(self.n,2),3)
    def test_2(self):
        with self.assertRaises(TypeError): add('a',1)
if __name__=='__main__': unittest.main()
""",
        None,
    ),
    "unittest fn": (
        "def add(a,b): return a+b",
        """
import unittest
t=unittest.TestCase()
assert add(3,4) == 7
t.assertEqual(add(1,1),2)
""",
        None,
    ),
    "exit": (
        "def add(a,b): return a+b",
        """
import sys
if add(1,1)!=2: sys.exit(1)
""",
        None,
    ),
    "raises": (
        """
def add(a,b):
    if a is None: raise ValueError("bad a")
    return a+b
""",
        """
import pytest
from solution import add
def test_a():
    assert add(3,4)==7
def test_r():
    with pytest.raises(ValueError, match='bad'):
        add(None,1)
""",
        None,
    ),
    "own error": (
        """
class Bad(ValueError):
    def __init__(s,n): super().__init__(f"bad {n}"); s.n=n
def f(x): raise Bad(x)
""",
        """
from solution import f, Bad
import pytest
def test():
    with pytest.raises(Bad) as e: f(3)
    assert e.value.n == 3 and str(e.value)=='bad 3'
    try: f(4)
    except ValueError as e: assert e.n==4
""",
        None,
    ),
    "state": (
        """
import itertools
c=itertools.count(1)
def nxt(): return next(c)
""",
        "assert nxt() == 1; assert nxt() == 2",
        None,
    ),
    "seed": (
        """
import random
def f(): return random.randint(0,10**9)
""",
        """
import random
random.seed(42)
a=f()
random.seed(42)
assert random.randint(0,10**9)==a
""",
        None,
    ),
    "generator": (
        """
def g():
    i=0
    while True:
        yield i; i+=1
""",
        """
import itertools
assert list(itertools.islice(g(),100))==list(range(100))
x=g(); next(x); assert next(x)==1
""",
        None,
    ),
    "in place": (
        "def rot(a,k): a[:]=a[-k:]+a[:-k]",
        """
x=[1,2,3]
rot(x,1)
assert x==[3,1,2]
""",
        None,
    ),
    "in place nested": (
        """
def f(m):
    for r in m: r.append(0)
    m.append([9])
""",
        """
m=[[1],[2]]
r=m[0]
f(m)
assert m==[[1,0],[2,0],[9]] and r==[1,0] and m[0] is r
""",
        None,
    ),
    "identity": (
        "def f(x): return x",
        """
x=[1]
assert f(x) is x
""",
        None,
    ),
    "dict in place": (
        "def f(d): d['a']=1; d.pop('b')",
        """
d={'b':1}
f(d)
assert d=={'a':1}
""",
        None,
    ),
    "callback": (
        "def ap(f,x): return [f(i) for i in x]",
        """
assert ap(lambda v: v*2,[1,2])==[2,4]
assert ap(str,[1])==['1']
assert ap(len,['ab'])==[2]
""",
        None,
    ),
    "callback raises": (
        """
def ap(f,x):
    try: return f(x)
    except ValueError as e: return str(e)
""",
        """
def bad(x): raise ValueError('no')
assert ap(bad,1)=='no'
""",
        None,
    ),
    "closure": (
        """
def make(n):
    def add(x): return x+n
    return add
""",
        """
f=make(3)
assert f(4)==7
assert callable(f)
""",
        None,
    ),
    "decorator": (
        """
def twice(f):
    def g(*a): return f(f(*a))
    return g
""",
        """
@twice
def inc(x): return x+1
assert inc(1)==3
""",
        None,
    ),
    "class attr": (
        """
class A:
    N=3
    @staticmethod
    def s(x): return x+1
    @classmethod
    def c(cls): return cls()
    @property
    def p(self): return 5
""",
        "assert A.N==3 and A.s(1)==2 and A.c().p==5 and isinstance(A(),A) and isinstance(A.c(),A)",
        None,
    ),
    "operators": (
        """
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
""",
        """
v=V(1,2)+V(3,4)
assert v==V(4,6) and V(1,2)*3==V(3,6) and 2*V(1,2)==V(2,4) and repr(v)=='V(4, 6)' and str(v)=='V(4, 6)' and len(v)==2 and v[0]==4 and list(v)==[4,6] and abs(V(3,4))==5 and not V(0,0) and V(1,1)<V(2,2) and sorted([V(2,2),V(1,1)])[0]==V(1,1)
x,y=v
assert (x,y)==(4,6)
""",
        None,
    ),
    "list subclass": (
        """
class S(list):
    def push(self,x): self.append(x)
""",
        "s=S(); s.push(1); assert len(s)==1 and s[0]==1 and s==[1]",
        None,
    ),
    "enum": (
        """
from enum import Enum
class C(Enum):
    R=1
    G=2
def f(): return C.R
""",
        "assert f()==C.R and f() is C.R and C.R.value==1 and C['G'].name=='G' and C(2) is C.G and [c.value for c in C]==[1,2]",
        None,
    ),
    "dataclass": (
        """
from dataclasses import dataclass
@dataclass
class P:
    x:int
    y:int=0
def mk(): return P(1)
""",
        """
assert mk()==P(1,0) and mk().x==1
p=P(3); p.x=4; assert p.x==4
""",
        None,
    ),
    "namedtuple": (
        """
from collections import namedtuple
P=namedtuple('P','x y')
def f(): return P(1,2)
""",
        "assert f()==(1,2) and f().x==1 and f()==P(1,2)",
        None,
    ),
    "context manager": (
        """
class R:
    def __enter__(s): s.o=True; return s
    def __exit__(s,*a): s.o=False; return a[0] is ValueError
""",
        """
r=R()
with r as q:
    assert q.o
    raise ValueError('x')
assert not r.o and q is r
""",
        None,
    ),
    "contextlib": (
        """
from contextlib import contextmanager
@contextmanager
def cm():
    yield 5
""",
        "with cm() as x: assert x==5",
        None,
    ),
    "async": (
        """
import asyncio
async def g(x):
    await asyncio.sleep(0)
    return x+1
""",
        """
import asyncio
assert asyncio.run(g(1))==2
async def t():
    a,b=await asyncio.gather(g(1),g(2))
    assert (a,b)==(2,3)
asyncio.run(t())
async def test_x(): assert await g(3)==4
""",
        None,
    ),
    "printed": (
        "def hello(): print('hi')",
        (
            "import io,contextlib\n"
            "f=io.StringIO()\n"
            "with contextlib.redirect_stdout(f): hello()\n"
            "assert f.getvalue()=='hi\\n'"
        ),
        None,
    ),
    "capsys": (
        "def hello(): print('hi')",
        ("def test_h(capsys):\n    hello()\n    assert capsys.readouterr().out=='hi\\n'"),
        None,
    ),
    "stdin": (
        "def solve(): return int(input())+int(input())",
        ("import sys,io\nsys.stdin=io.StringIO('3\\n4\\n')\nassert solve()==7"),
        None,
    ),
    "parametrize": (
        "def add(a,b): return a+b",
        """
import pytest
@pytest.mark.parametrize('a,b,c',[(1,2,3),(2,2,4)])
def test_add(a,b,c): assert add(a,b)==c
""",
        None,
    ),
    "fixture": (
        """
class S:
    def __init__(s): s.l=[]
    def push(s,x): s.l.append(x)
    @property
    def size(s): return len(s.l)
""",
        """
import pytest
@pytest.fixture
def s(): return S()
def test_x(s):
    s.push(1); assert s.size==1
""",
        None,
    ),
    "pytest class": (
        "def add(a,b): return a+b",
        """
class TestAdd:
    def setup_method(self): self.n=3
    def test_a(self): assert add(self.n,1)==4
""",
        None,
    ),
    "approx": (
        "def f(): return 0.1+0.2",
        """
import pytest
assert f()==pytest.approx(0.3)
assert [f(),1]==pytest.approx([0.3,1])
""",
        None,
    ),
    "list node": (
        """
class Solution:
    def rev(self, head):
        p=None
        while head: head.next,p,head=p,head,head.next
        return p
""",
        """
def check(candidate):
    assert is_same_list(candidate(list_node(list(range(3000)))), list_node(list(range(2999,-1,-1))))
""",
        "Solution().rev",
    ),
    "own node": (
        """
class Node:
    def __init__(s,v,n=None): s.v,s.n=v,n
def last(n):
    while n.n: n=n.n
    return n.v
""",
        "assert last(Node(1,Node(2)))==2",
        None,
    ),
    "test node": (
        """
def last(n):
    while n.nx: n=n.nx
    n.v=9
    return n
""",
        """
class Node:
    def __init__(self,v,nx=None): self.v,self.nx=v,nx
b=Node(2)
a=Node(1,b)
r=last(a)
assert r is b and b.v==9
""",
        None,
    ),
    "sum builtin": (
        "def sum(a,b): return a+b+0",
        """
assert sum(10,15)==25
assert sum(2,4)==6
""",
        None,
    ),
    "mutable default": (
        """
def f(x,acc=[]):
    acc.append(x); return acc
""",
        "assert f(1)==[1]; assert f(2)==[1,2]",
        None,
    ),
    "global import": (
        """
import math
from collections import deque
def f(): return deque([1,2])
""",
        "assert f()==deque([1,2]) and math.isclose(1.0,1.0)",
        None,
    ),
    "true for one": (
        "def f(): return True",
        "assert f()==1",
        None,
    ),
    "fraction": (
        """
from fractions import Fraction
def f(): return Fraction(2)
""",
        "assert f()==2",
        None,
    ),
    "decimal": (
        """
from decimal import Decimal
def f(): return Decimal(2)
""",
        "assert f()==2",
        None,
    ),
    "keys": (
        "def f(): return {1:0,2:0}.keys()",
        "assert f()=={1,2} and list(f())==[1,2] and sorted(f())==[1,2]",
        None,
    ),
    "values map": (
        "def f(): return map(int,'12')",
        "assert list(f())==[1,2]",
        None,
    ),
    "range": (
        "def f(): return range(3)",
        "assert f()==range(3) and list(f())==[0,1,2]",
        None,
    ),
    "counter": (
        """
from collections import Counter
def f(s): return Counter(s)
""",
        "assert f('aab')=={'a':2,'b':1} and f('aab').most_common(1)==[('a',2)]",
        None,
    ),
    "datetime": (
        """
import datetime
def f(): return datetime.date(2020,1,2)
""",
        """
from datetime import date
assert f()==date(2020,1,2)
""",
        None,
    ),
    "lru": (
        """
from functools import lru_cache
@lru_cache(None)
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
""",
        """
fib.cache_clear()
assert fib(50)==12586269025
assert fib.cache_info().hits>0
""",
        None,
    ),
    "bst": (
        """
class N:
    def __init__(s,v): s.v=v; s.l=s.r=None
class B:
    def __init__(s): s.root=None
    def insert(s,v): s.root=N(v)
    def contains(s,v): return s.root.v==v
""",
        "b=B(); b.insert(3); assert b.contains(3) and b.root.v==3 and b.root.l is None",
        None,
    ),
    "json error": (
        """
import json
def f(s): return json.loads(s)
""",
        """
import json,pytest
with pytest.raises(json.JSONDecodeError): f('{')
with pytest.raises(ValueError): f('{')
""",
        None,
    ),
    "abc": (
        """
from abc import ABC, abstractmethod
class Sh(ABC):
    @abstractmethod
    def area(self): ...
class Sq(Sh):
    def __init__(s,a): s.a=a
    def area(s): return s.a**2
""",
        """
import pytest
assert Sq(3).area()==9 and isinstance(Sq(3),Sh) and issubclass(Sq,Sh)
with pytest.raises(TypeError): Sh()
""",
        None,
    ),
    "iterator class": (
        """
class Cd:
    def __init__(s,n): s.n=n
    def __iter__(s): return s
    def __next__(s):
        if s.n<=0: raise StopIteration
        s.n-=1; return s.n+1
""",
        """
assert list(Cd(3))==[3,2,1]
c=Cd(2); assert next(c)==2 and c.n==1
""",
        None,
    ),
    "set of objects": (
        """
class P:
    def __init__(s,x): s.x=x
    def __eq__(s,o): return isinstance(o,P) and s.x==o.x
    def __hash__(s): return hash(s.x)
""",
        "assert len({P(1),P(1),P(2)})==2 and P(1) in [P(1)] and {P(1):2}[P(1)]==2 and P(1)!=1",
        None,
    ),
    "kwargs": (
        "def f(*a,**k): return a,k",
        "assert f(1,b=2)==((1,),{'b':2})",
        None,
    ),
    "gen arg": (
        "def f(it): return sum(it)",
        """
assert f(x for x in range(4))==6
assert f(iter([1,2]))==3
""",
        None,
    ),
    "recursion data": (
        """
def f():
    a=[]; a.append(a); return a
""",
        """
x=f()
assert x[0] is x
""",
        None,
    ),
    "bytes": (
        "def f(b): return b[::-1]",
        "assert f(b'ab')==b'ba' and f(bytearray(b'ab'))==bytearray(b'ba')",
        None,
    ),
    "big int": (
        "def f(): return 3**10000",
        "assert f()==3**10000",
        None,
    ),
    "inf nan": (
        "def f(): return [float('inf'),float('nan')]",
        """
import math
a,b=f()
assert a==math.inf and math.isnan(b)
""",
        None,
    ),
    "name doc": (
        """
def f():
    'doc'
    return 1
""",
        "assert f.__name__=='f' and f.__doc__=='doc'",
        None,
    ),
    "solution star": (
        """
X=3
def f(): return X
""",
        """
from solution import *
assert f()==X==3
import solution
assert solution.f()==3 and solution.X==3
""",
        None,
    ),
    "tests own main": (
        "def f(): return 1",
        """
def run():
    assert f()==1
if __name__=='__main__': run()
""",
        None,
    ),
    "print in check": (
        "def add(a,b): return a+b",
        """
def check(candidate):
    assert candidate(1,2)==3
    print('ok')
""",
        "add",
    ),
    "setattr class": (
        "class C: count=0",
        """
C.count=5
assert C.count==5 and C().count==5
""",
        None,
    ),
    "thread": (
        """
class C:
    def __init__(s): s.n=0
    def inc(s): s.n+=1
""",
        """
import threading
c=C()
ts=[threading.Thread(target=c.inc) for _ in range(5)]
[t.start() for t in ts]; [t.join() for t in ts]
assert c.n==5
""",
        None,
    ),
    "super str": (
        """
class A(str):
    pass
def f(): return A('x')
""",
        "assert f()=='x' and f().upper()=='X'",
        None,
    ),
    "type check": (
        "def f(): return [1]",
        "assert isinstance(f(),list) and type(f()) is list and isinstance(f()[0],int)",
        None,
    ),
    "async iter": (
        """
class T:
    async def run(self): return 4
""",
        """
import asyncio
assert asyncio.run(T().run())==4
""",
        None,
    ),
    "error type passed": (
        "def f(e): raise e('x')",
        """
import pytest
with pytest.raises(KeyError): f(KeyError)
""",
        None,
    ),
    "returns class": (
        """
def f():
    class Q:
        z=3
    return Q
""",
        """
Q=f()
assert Q().z==3 and Q.z==3
""",
        None,
    ),
    "del item": (
        """
class D:
    def __init__(s): s.d={}
    def __setitem__(s,k,v): s.d[k]=v
    def __getitem__(s,k): return s.d[k]
    def __delitem__(s,k): del s.d[k]
    def __contains__(s,k): return k in s.d
""",
        """
d=D(); d['a']=1; assert d['a']==1 and 'a' in d
del d['a']
assert 'a' not in d
""",
        None,
    ),
}
"""For each style the program, the tests, and what `check` gets."""
