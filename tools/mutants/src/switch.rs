//! A switched file: one in which every mutant stands beside the code it replaces, and a call of
//! `crate::mutant` with its number chooses between the two at run time.
//!
//! | mutant | what is written |
//! |---|---|
//! | the value of a function | `if crate::mutant(7) { return VALUE; }` before its body |
//! | an operator | `(if crate::mutant(7) { a NEW b } else { a OLD b })` |
//! | the guard of an arm | the same around the guard |
//! | an arm that is left out | `if !crate::mutant(7)` as its guard, or before the one it has |
//! | a field that is left out | `if crate::mutant(7) { (base).field } else { value }` |
//!
//! Only one mutant is on at a time, so what stands in the first branch needs no switches inside, and
//! everything is an insertion: the code that was there stays where it was, in the last branch. A chain
//! of binary operators is switched as a whole, because a new operator may bind its neighbours
//! otherwise, as it would in the text.
//!
//! A constant cannot ask for its number. `const` is taken off functions where that is possible;
//! mutants in what remains constant get no switch, nor do values of functions that return
//! `impl Trait`, which must be of one type.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use anyhow::{Context, Result};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::mutant::{Genre, Id, Mutant};

/// The end of `src/lib.rs`: what tells a mutant whether it is on. The environment says which one is; or
/// names a file, to which all that are asked for are written, each once.
pub(crate) fn runtime(mutants: usize) -> String {
    RUNTIME.replace("MUTANTS", &(mutants + 1).to_string())
}

const RUNTIME: &str = r#"
#[doc(hidden)]
mod mutant_switch {
    extern crate std;
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::sync::OnceLock;

    const UNKNOWN: u32 = u32::MAX;
    const RECORDED: u32 = u32::MAX - 1;
    static ON: AtomicU32 = AtomicU32::new(UNKNOWN);
    static ASKED: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];
    static RECORD: OnceLock<Option<File>> = OnceLock::new();

    #[inline(always)]
    pub(crate) fn mutant(id: u32) -> bool {
        let on = ON.load(Relaxed);
        if on >= RECORDED { first(id) } else { on == id }
    }

    #[cold]
    #[inline(never)]
    fn first(id: u32) -> bool {
        if ON.load(Relaxed) == RECORDED && ASKED[id as usize].load(Relaxed) {
            return false;
        }
        let record = RECORD.get_or_init(|| {
            let path = std::env::var_os("MUTANT_RECORD")?;
            Some(OpenOptions::new().append(true).create(true).open(path).unwrap())
        });
        // Once the file is open nothing is asked of the allocator, as some tests count that; and a
        // line is written at once, as there may be other threads.
        if let Some(mut record) = record.as_ref() {
            ON.store(RECORDED, Relaxed);
            if !ASKED[id as usize].swap(true, Relaxed) {
                let mut line = [0; 16];
                let mut rest = &mut line[..];
                writeln!(rest, "{id}").unwrap();
                let left = rest.len();
                record.write_all(&line[..16 - left]).unwrap();
            }
            return false;
        }
        let on = std::env::var("MUTANT").map_or(0, |id| id.parse().unwrap());
        ON.store(on, Relaxed);
        on == id
    }
}
pub(crate) use mutant_switch::mutant;
"#;

pub(crate) struct Switched {
    pub(crate) text: String,
    written: Vec<Written>,
    /// Those that have no switch.
    pub(crate) left: Vec<Id>,
}

impl Switched {
    /// Puts the mutants behind switches. Functions whose names are in `kept` stay constant.
    pub(crate) fn new(
        source: &str,
        mutants: &[(Id, &Mutant)],
        kept: &HashSet<String>,
    ) -> Result<Self> {
        let file = syn::parse_file(source).context("cannot parse")?;
        let mut finder = Finder {
            source,
            kept,
            wanted: HashMap::new(),
            edits: Vec::new(),
            unconst: Vec::new(),
            in_constant: false,
        };
        for &(id, mutant) in mutants {
            let place = (mutant.genre, mutant.range(source).start);
            finder.wanted.entry(place).or_default().push((id, mutant));
        }
        finder.visit_file(&file);
        let mut left: Vec<Id> = finder
            .wanted
            .values()
            .flatten()
            .map(|&(id, _)| id)
            .collect();
        left.sort_unstable();
        let mut source = source.to_owned();
        for range in finder.unconst {
            let blank = " ".repeat(range.len());
            source.replace_range(range, &blank);
        }
        let (text, written) = render(&source, finder.edits);
        Ok(Self {
            text,
            written,
            left,
        })
    }

    /// The mutants whose code a span of the text lies in: the narrowest that holds all of it.
    pub(crate) fn mutants_at(&self, span: &Range<usize>) -> Option<&[Id]> {
        let holds = |range: &Range<usize>| range.start <= span.start && span.end <= range.end;
        let holding = self.written.iter().filter(|(range, _)| holds(range));
        let narrowest = holding.min_by_key(|(range, _)| range.len());
        narrowest.map(|(_, ids)| ids.as_slice())
    }

    /// All mutants that have something in this part of the text.
    pub(crate) fn mutants_within(&self, span: &Range<usize>) -> BTreeSet<Id> {
        let within = |range: &Range<usize>| span.start <= range.start && range.end <= span.end;
        let found = self.written.iter().filter(|(range, _)| within(range));
        found.flat_map(|(_, ids)| ids.iter().copied()).collect()
    }
}

/// What is to be written before and after a range of the source.
struct Edit {
    around: Range<usize>,
    before: Vec<Piece>,
    after: String,
}

/// A text, and the mutant that it is, if it is one.
type Piece = (String, Option<Id>);

/// `(if crate::mutant(1) { first } else if crate::mutant(2) { second } else { ... })`
fn choice(around: Range<usize>, label: &str, branches: Vec<(Id, String)>) -> Edit {
    let mut before = vec![(format!("{label}("), None)];
    for (id, text) in branches {
        before.push((format!("if crate::mutant({id}) {{ "), None));
        before.push((text, Some(id)));
        before.push((" } else ".to_owned(), None));
    }
    before.push(("{ ".to_owned(), None));
    Edit {
        around,
        before,
        after: " })".to_owned(),
    }
}

/// Bytes of the text, and for which mutants they were written.
type Written = (Range<usize>, Vec<Id>);

/// Writes all edits into the source; of those that begin or end at one place the widest is outermost.
fn render(source: &str, mut edits: Vec<Edit>) -> (String, Vec<Written>) {
    edits.sort_by_key(|edit| (edit.around.start, usize::MAX - edit.around.end));
    let mut text = String::new();
    let mut written = Vec::new();
    let mut open: Vec<(Edit, usize)> = Vec::new();
    let mut at = 0;
    let mut close = |text: &mut String, at: &mut usize, (edit, from): (Edit, usize)| {
        text.push_str(&source[*at..edit.around.end]);
        *at = edit.around.end;
        text.push_str(&edit.after);
        let mut start = from;
        for (piece, id) in &edit.before {
            let range = start..start + piece.len();
            start = range.end;
            written.extend(id.map(|id| (range, vec![id])));
        }
        // What has no end only stands before something, which is not its own.
        if !edit.after.is_empty() {
            let ids = edit.before.iter().filter_map(|&(_, id)| id).collect();
            written.push((from..text.len(), ids));
        }
    };
    for edit in edits {
        while let Some(inner) = open.pop_if(|(inner, _)| inner.around.end <= edit.around.start) {
            close(&mut text, &mut at, inner);
        }
        text.push_str(&source[at..edit.around.start]);
        at = edit.around.start;
        open.push((edit, text.len()));
        for (piece, _) in &open[open.len() - 1].0.before {
            text.push_str(piece);
        }
    }
    while let Some(inner) = open.pop() {
        close(&mut text, &mut at, inner);
    }
    text.push_str(&source[at..]);
    (text, written)
}

/// Finds the places of mutants in the syntax, and makes edits of them.
struct Finder<'a> {
    source: &'a str,
    kept: &'a HashSet<String>,
    wanted: HashMap<(Genre, usize), Vec<(Id, &'a Mutant)>>,
    edits: Vec<Edit>,
    /// Where `const` is to be taken off.
    unconst: Vec<Range<usize>>,
    in_constant: bool,
}

impl<'a> Finder<'a> {
    /// The mutants of a kind at a place, which get their switch now.
    fn take(&mut self, genre: Genre, at: Span) -> Vec<(Id, &'a Mutant)> {
        if self.in_constant {
            return Vec::new();
        }
        let place = (genre, at.byte_range().start);
        self.wanted.remove(&place).unwrap_or_default()
    }

    fn text(&self, range: &Range<usize>) -> &'a str {
        &self.source[range.clone()]
    }

    /// The text of a range with one part of it replaced.
    fn replaced(&self, range: &Range<usize>, mutant: &Mutant) -> String {
        let part = mutant.range(self.source);
        let (before, after) = (range.start..part.start, part.end..range.end);
        let replacement = &mutant.replacement;
        format!("{} {replacement} {}", self.text(&before), self.text(&after))
    }

    /// A choice between an expression and its mutants.
    fn choose(&mut self, around: Range<usize>, mutants: Vec<(Id, &'a Mutant)>) {
        if !mutants.is_empty() {
            let branches = mutants
                .into_iter()
                .map(|(id, mutant)| (id, self.replaced(&around, mutant)));
            let branches = branches.collect();
            self.edits.push(choice(around, "", branches));
        }
    }

    /// The operators of a chain of binary expressions; what they join is visited.
    fn chain(&mut self, chain: &'a syn::ExprBinary, found: &mut Vec<(Id, &'a Mutant)>) {
        found.extend(self.take(Genre::BinaryOperator, chain.op.span()));
        for side in [&*chain.left, &*chain.right] {
            match side {
                syn::Expr::Binary(binary) => self.chain(binary, found),
                other => self.visit_expr(other),
            }
        }
    }

    fn constant(&mut self, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.in_constant, true);
        visit(self);
        self.in_constant = outside;
    }

    fn function(&mut self, sig: &'a syn::Signature, block: &'a syn::Block) {
        if let Some(token) = &sig.constness {
            if self.kept.contains(&sig.ident.to_string()) {
                return self.constant(|finder| visit::visit_block(finder, block));
            }
            self.unconst.push(token.span.byte_range());
        }
        // Two types for one `impl Trait` do not compile, and the error points at the other.
        let output = self.text(&sig.output.span().byte_range());
        if let Some(first) = block.stmts.first().filter(|_| !output.contains("impl ")) {
            let mutants = self.take(Genre::FnValue, first.span());
            let whole = block.span().byte_range();
            for (id, mutant) in mutants {
                let value = format!("return {};", mutant.replacement);
                self.edits.push(Edit {
                    around: first.span().byte_range().start..whole.end - 1,
                    before: vec![
                        (format!("if crate::mutant({id}) {{ "), None),
                        (value, Some(id)),
                        (" } ".to_owned(), None),
                    ],
                    after: String::new(),
                });
            }
        }
        visit::visit_block(self, block);
    }
}

impl<'a> Visit<'a> for Finder<'a> {
    fn visit_expr_binary(&mut self, binary: &'a syn::ExprBinary) {
        let mut found = Vec::new();
        self.chain(binary, &mut found);
        self.choose(binary.span().byte_range(), found);
    }

    fn visit_expr_unary(&mut self, unary: &'a syn::ExprUnary) {
        let found = self.take(Genre::UnaryOperator, unary.op.span());
        self.choose(unary.span().byte_range(), found);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        let guard = arm.guard.as_ref().map(|(_, guard)| guard);
        for (id, _) in self.take(Genre::MatchArm, arm.span()) {
            let (around, before, after) = match guard {
                Some(guard) => (guard.span().byte_range(), "(", ")"),
                None => {
                    let end = arm.pat.span().byte_range().end;
                    (end..end, " if ", "")
                }
            };
            let and = if guard.is_some() { " && (" } else { "" };
            self.edits.push(Edit {
                around,
                before: vec![(format!("{before}!crate::mutant({id}){and}"), Some(id))],
                after: format!("{after}{after}"),
            });
        }
        if let Some(guard) = guard {
            let found = self.take(Genre::MatchArmGuard, guard.span());
            self.choose(guard.span().byte_range(), found);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, made: &'a syn::ExprStruct) {
        for field in &made.fields {
            let Some(rest) = &made.rest else { break };
            let syn::Member::Named(name) = &field.member else {
                break;
            };
            let base = self.text(&rest.span().byte_range());
            let label = match field.colon_token {
                Some(_) => String::new(),
                None => format!("{name}: "),
            };
            for (id, _) in self.take(Genre::StructField, field.span()) {
                let branches = vec![(id, format!("({base}).{name}"))];
                let around = field.expr.span().byte_range();
                self.edits.push(choice(around, &label, branches));
            }
        }
        visit::visit_expr_struct(self, made);
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.constant(|finder| visit::visit_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'a syn::ItemStatic) {
        self.constant(|finder| visit::visit_item_static(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        self.constant(|finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_trait_item_const(&mut self, item: &'a syn::TraitItemConst) {
        self.constant(|finder| visit::visit_trait_item_const(finder, item));
    }

    fn visit_expr_const(&mut self, block: &'a syn::ExprConst) {
        self.constant(|finder| visit::visit_expr_const(finder, block));
    }

    fn visit_expr_repeat(&mut self, array: &'a syn::ExprRepeat) {
        self.visit_expr(&array.expr);
        self.constant(|finder| finder.visit_expr(&array.len));
    }

    fn visit_type(&mut self, of: &'a syn::Type) {
        self.constant(|finder| visit::visit_type(finder, of));
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.constant(|finder| visit::visit_variant(finder, variant));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Genre::{BinaryOperator, FnValue, MatchArm, MatchArmGuard, StructField, UnaryOperator};

    type Change<'a> = (Genre, &'a str, &'a str);

    fn switch_keeping(source: &str, changes: &[Change<'_>], kept: &[&str]) -> Switched {
        let of =
            |&(genre, word, replacement): &Change<'_>| Mutant::of(source, genre, word, replacement);
        let mutants: Vec<Mutant> = changes.iter().map(of).collect();
        let numbered: Vec<(Id, &Mutant)> = (1..).zip(&mutants).collect();
        let kept = kept.iter().map(|&name| name.to_owned()).collect();
        let switched = Switched::new(source, &numbered, &kept).unwrap();
        syn::parse_file(&switched.text).expect("what is written can be parsed");
        switched
    }

    /// The text with single spaces, so that what matters is seen.
    fn switch(source: &str, changes: &[Change<'_>]) -> String {
        let switched = switch_keeping(source, changes, &[]);
        assert!(switched.left.is_empty());
        let words: Vec<&str> = switched.text.split_whitespace().collect();
        words.join(" ")
    }

    #[test]
    fn chain_of_operators_is_switched_as_a_whole_and_as_text() {
        let changes = [(BinaryOperator, "*", "+"), (BinaryOperator, "- b", "/ b")];
        assert_eq!(
            switch("fn f() -> u8 { a - b * c }", &changes),
            "fn f() -> u8 { (if crate::mutant(2) { a / b * c } else \
             if crate::mutant(1) { a - b + c } else { a - b * c }) }"
        );
    }

    #[test]
    fn inner_expression_has_its_switch_in_the_last_branch_alone() {
        let changes = [
            (BinaryOperator, "&&", "||"),
            (UnaryOperator, "!", ""),
            (BinaryOperator, "<", ">"),
        ];
        assert_eq!(
            switch("fn f() { g(!a && h(b < c)); }", &changes),
            "fn f() { g((if crate::mutant(1) { !a || h(b < c) } else { \
             (if crate::mutant(2) { a } else { !a }) && \
             h((if crate::mutant(3) { b > c } else { b < c })) })); }"
        );
    }

    #[test]
    fn value_of_a_function_comes_before_all_else() {
        let changes = [(FnValue, "a += 1;\na", "7"), (BinaryOperator, "+=", "-=")];
        assert_eq!(
            switch("fn f() -> u8 { a += 1;\na }", &changes),
            "fn f() -> u8 { if crate::mutant(1) { return 7; } \
             (if crate::mutant(2) { a -= 1 } else { a += 1 }); a }"
        );
    }

    #[test]
    fn arm_that_is_left_out_has_a_guard_or_another() {
        let source = "fn f() { match a { B => 1, C if dd => 2, _ => 3 } }";
        assert_eq!(
            switch(
                source,
                &[
                    (MatchArm, "B => 1,", ""),
                    (MatchArm, "C if dd => 2,", ""),
                    (MatchArmGuard, "dd", "true")
                ]
            ),
            "fn f() { match a { B if !crate::mutant(1) => 1, \
             C if (!crate::mutant(2) && ((if crate::mutant(3) { true } else { dd }))) => 2, _ => 3 } }"
        );
    }

    #[test]
    fn field_that_is_left_out_is_that_of_the_base() {
        let source = "fn f() -> A { A { b: g(), c, ..base() } }";
        assert_eq!(
            switch(
                source,
                &[(StructField, "b: g(),", ""), (StructField, "c,", "")]
            ),
            "fn f() -> A { A { b: (if crate::mutant(1) { (base()).b } else { g() }), \
             c: (if crate::mutant(2) { (base()).c } else { c }), ..base() } }"
        );
    }

    #[test]
    fn constants_get_no_switch() {
        let source = "const A: u8 = 1 + 2; const fn f() -> u8 { 3 - 4 } fn g() -> [u8; 5 * 6] { [0; 7 / 8] }";
        let changes = [
            (BinaryOperator, "+", "-"),
            (BinaryOperator, "- 4", "+ 4"),
            (BinaryOperator, "*", "+"),
            (BinaryOperator, "/", "%"),
        ];
        let switched = switch_keeping(source, &changes, &["f"]);
        assert_eq!(switched.left, [1, 2, 3, 4]);
        assert_eq!(switched.text, source);
        let switched = switch_keeping(source, &changes, &[]);
        assert_eq!(switched.left, [1, 3, 4]);
        assert!(
            switched
                .text
                .contains("       fn f() -> u8 { (if crate::mutant(2)")
        );
    }

    #[test]
    fn value_of_two_types_gets_no_switch() {
        let source = "fn f() -> impl Iterator<Item = u8> { g() }";
        let switched = switch_keeping(source, &[(FnValue, "g()", "empty()")], &[]);
        assert_eq!((switched.left, switched.text), (vec![1], source.to_owned()));
    }

    #[test]
    fn error_is_blamed_on_the_branch_it_is_in_or_on_all_of_the_expression() {
        let changes = [
            (BinaryOperator, "+", "-"),
            (BinaryOperator, "* c", "/ c"),
            (FnValue, "a + b * c", "Default::default()"),
        ];
        let switched = switch_keeping("fn f() -> u8 { a + b * c }", &changes, &[]);
        let at = |word: &str| {
            let start = switched.text.find(word).unwrap();
            switched.mutants_at(&(start..start + word.len()))
        };
        assert_eq!(at("a  -  b"), Some(&[1][..]));
        assert_eq!(at("b  / c"), Some(&[2][..]));
        assert_eq!(at("a + b * c }"), Some(&[1, 2][..]));
        assert_eq!(at("Default"), Some(&[3][..]));
        assert_eq!(at("u8"), None);
        let whole = 0..switched.text.len();
        assert_eq!(switched.mutants_within(&whole), BTreeSet::from([1, 2, 3]));
    }
}
