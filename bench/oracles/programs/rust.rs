// SPDX-License-Identifier: MIT
// A Rust program whose names are hard: generics, traits and their blocks without a name, closures,
// iterators inlined many levels deep, and all of the standard library that it draws in.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::{self, Debug, Display, Write as _};
use std::io::{self, BufRead, Read, Write};
use std::rc::Rc;
use std::sync::{mpsc, Arc, Mutex};

mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
        fn twice(&self) -> f64 {
            2.0 * self.area()
        }
    }
    pub struct Circle(pub f64);
    pub struct Rect<T> {
        pub w: T,
        pub h: T,
    }
    impl Area for Circle {
        fn area(&self) -> f64 {
            self.0 * self.0 * std::f64::consts::PI
        }
    }
    impl<T: Copy + Into<f64>> Area for Rect<T> {
        fn area(&self) -> f64 {
            let (w, h): (f64, f64) = (self.w.into(), self.h.into());
            w * h
        }
    }
    impl<T> Rect<T> {
        #[inline(never)]
        pub fn map<U, F: Fn(&T) -> U>(&self, f: F) -> Rect<U> {
            Rect { w: f(&self.w), h: f(&self.h) }
        }
    }
}
use shapes::{Area, Circle, Rect};

#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Token {
    Number(f64),
    Word(String),
    Sign(char),
    List(Vec<Token>),
}

struct Parser<'a, I: Iterator<Item = char>> {
    chars: std::iter::Peekable<I>,
    seen: &'a mut HashMap<String, usize>,
}

impl<'a, I: Iterator<Item = char>> Parser<'a, I> {
    fn new(chars: I, seen: &'a mut HashMap<String, usize>) -> Self {
        Parser { chars: chars.peekable(), seen }
    }

    #[inline(never)]
    fn tokens(&mut self, depth: usize) -> Result<Vec<Token>, ParseError> {
        let mut found = Vec::new();
        while let Some(&c) = self.chars.peek() {
            match c {
                '0'..='9' => found.push(Token::Number(self.take(|c| c.is_ascii_digit() || c == '.').parse()?)),
                'a'..='z' | 'A'..='Z' | '_' => {
                    let word = self.take(char::is_alphanumeric);
                    *self.seen.entry(word.clone()).or_insert(0) += 1;
                    found.push(Token::Word(word));
                }
                '(' => {
                    self.chars.next();
                    if depth > 32 {
                        return Err(ParseError::Deep(depth));
                    }
                    found.push(Token::List(self.tokens(depth + 1)?));
                }
                ')' => {
                    self.chars.next();
                    break;
                }
                c if c.is_whitespace() => {
                    self.chars.next();
                }
                c => {
                    self.chars.next();
                    found.push(Token::Sign(c));
                }
            }
        }
        Ok(found)
    }

    fn take<F: Fn(char) -> bool>(&mut self, wanted: F) -> String {
        let mut word = String::new();
        while let Some(c) = self.chars.next_if(|&c| wanted(c)) {
            word.push(c);
        }
        word
    }
}

#[derive(Debug)]
enum ParseError {
    Number(std::num::ParseFloatError),
    Deep(usize),
}

impl From<std::num::ParseFloatError> for ParseError {
    fn from(e: std::num::ParseFloatError) -> Self {
        ParseError::Number(e)
    }
}

impl Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Number(e) => write!(f, "no number: {e}"),
            ParseError::Deep(n) => write!(f, "{n} lists in each other"),
        }
    }
}
impl std::error::Error for ParseError {}

struct Matrix<const R: usize, const C: usize>([[f64; C]; R]);

impl<const R: usize, const C: usize> Matrix<R, C> {
    #[inline(never)]
    fn times<const D: usize>(&self, other: &Matrix<C, D>) -> Matrix<R, D> {
        let mut m = Matrix([[0.0; D]; R]);
        for (row, out) in self.0.iter().zip(m.0.iter_mut()) {
            for (j, cell) in out.iter_mut().enumerate() {
                *cell = row.iter().zip(other.0.iter().map(|r| r[j])).map(|(a, b)| a * b).sum();
            }
        }
        m
    }
}

#[inline(never)]
fn largest<'a, T: PartialOrd + Debug>(all: &'a [T]) -> Option<&'a T> {
    all.iter().fold(None, |best, x| match best {
        Some(b) if b >= x => Some(b),
        _ => Some(x),
    })
}

fn boxed(kind: usize) -> Box<dyn Fn(i64) -> i64 + Send> {
    match kind {
        0 => Box::new(|x| x + 1),
        1 => Box::new(move |x| (0..x).filter(|y| y % (kind as i64 + 1) == 0).map(|y| y * y).sum()),
        _ => {
            fn inner(x: i64) -> i64 {
                if x < 2 { x } else { inner(x - 1) + inner(x - 2) }
            }
            Box::new(|x| inner(x.min(20)))
        }
    }
}

#[inline(never)]
fn threads(n: usize) -> u64 {
    let (send, receive) = mpsc::channel();
    let total = Arc::new(Mutex::new(0u64));
    let all: Vec<_> = (0..n)
        .map(|i| {
            let (send, total) = (send.clone(), Arc::clone(&total));
            std::thread::spawn(move || {
                let f = boxed(i % 3);
                *total.lock().unwrap() += f(i as i64) as u64;
                send.send(i).unwrap();
            })
        })
        .collect();
    drop(send);
    let seen: HashSet<usize> = receive.iter().collect();
    for thread in all {
        thread.join().unwrap();
    }
    let sum = *total.lock().unwrap();
    sum + seen.len() as u64
}

struct Node {
    name: Rc<str>,
    children: Vec<Node>,
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.name.len() > 100 {
            println!("a long one: {}", self.name);
        }
    }
}

fn tree(depth: usize) -> Node {
    Node { name: format!("n{depth}").into(), children: (0..depth).map(tree).collect() }
}

fn count(node: &Node) -> usize {
    1 + node.children.iter().map(count).sum::<usize>()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    if std::env::args().len() > 1 {
        io::stdin().lock().read_to_string(&mut text)?;
    } else {
        for line in io::stdin().lock().lines().take(3) {
            text.push_str(&line?);
        }
    }
    let mut seen = HashMap::new();
    let tokens = Parser::new(text.chars(), &mut seen).tokens(0)?;
    let mut sorted: BTreeMap<_, _> = seen.into_iter().collect();
    sorted.retain(|k, v| *v > 1 || k.len() > 3);
    let mut queue: VecDeque<_> = tokens.iter().collect();
    let mut out = String::new();
    while let Some(token) = queue.pop_front() {
        match token {
            Token::List(inner) => queue.extend(inner.iter()),
            other => write!(out, "{other:?} ")?,
        }
    }
    let shapes: Vec<Box<dyn Area>> =
        vec![Box::new(Circle(1.5)), Box::new(Rect { w: 2.0f32, h: 3.0 }.map(|x| f64::from(*x) + 1.0))];
    let area: f64 = shapes.iter().map(|s| s.area() + s.twice()).sum();
    let a = Matrix([[1.0, 2.0, 3.0], [area, 5.0, 6.0]]);
    let product = a.times(&Matrix([[1.0], [2.0], [3.0]]));
    let mut values: Vec<f64> = product.0.iter().flatten().copied().collect();
    values.sort_by(|a, b| b.partial_cmp(a).unwrap());
    writeln!(io::stdout(), "{out}{sorted:?} {:?} {:?} {}", largest(&values), largest(&tokens), threads(4))?;
    println!("{}", count(&tree(6)));
    Ok(())
}
