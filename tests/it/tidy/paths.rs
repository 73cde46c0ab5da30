//! The crate's modules, and where a path leads: through `super`, imports and re-exports to the file
//! that defines what it names.
//!
//! This reads tokens, not types. It sees every path that is written, and of methods those that a
//! type calls on itself. Methods of a value that come from elsewhere need no import, and are not
//! seen.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Module, ModulePath, declared};
use super::source::{Token, code, sources, tokens, without_tests};

/// Where a path leads.
enum Target {
    Module(ModulePath),
    /// An item, and the file that defines it.
    Item(String),
}

/// That a file needs another one: `judge.rs` needs `follow.rs` for `admit`.
pub(super) type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

pub(super) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

impl Crate {
    /// The crate as its files declare it, without what is compiled for tests only.
    pub(super) fn read() -> Self {
        Self::of(&sources("src"), without_tests)
    }

    /// The same with its tests.
    pub(super) fn read_with_tests() -> Self {
        Self::of(&sources("src"), |tokens| tokens.to_vec())
    }

    fn of(
        sources: &BTreeMap<String, String>,
        chosen: impl for<'a> Fn(&[Token<'a>]) -> Vec<Token<'a>>,
    ) -> Self {
        let mut modules = BTreeMap::new();
        let mut waiting = vec![("lib.rs".to_owned(), ModulePath::new())];
        while let Some((file, path)) = waiting.pop() {
            let code = code(&sources[&file]);
            let declared = declared(&file, &path, &chosen(&tokens(&code)));
            modules.extend(declared.modules);
            for path in declared.elsewhere {
                let inner = path.join("/");
                let files = [format!("{inner}.rs"), format!("{inner}/mod.rs")];
                let there = files.into_iter().find(|it| sources.contains_key(it));
                waiting.extend(there.map(|file| (file, path)));
            }
        }
        Self { modules }
    }

    /// Each file of the crate that needs another one, and what for.
    pub(super) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        let mut arrow = |from: &Module, to: String, name: &str| {
            if from.file != to {
                let names = arrows.entry((from.file.clone(), to)).or_default();
                names.insert(name.to_owned());
            }
        };
        for (at, module) in &self.modules {
            for import in &module.imports {
                // What is only handed on is no need of this file's.
                let is_used = |name: &String| module.words.contains(name);
                if import.is_public && !import.name.as_ref().is_some_and(is_used) {
                    continue;
                }
                if let Some(Target::Item(file)) = self.resolve(at, &import.path, 0) {
                    arrow(module, file, &import.path[import.path.len() - 1]);
                }
            }
            for path in &module.paths {
                if let Some(Target::Item(file)) = self.resolve(at, path, 0) {
                    arrow(module, file, &path.join("::"));
                }
            }
            for block in module.impls.iter().filter(|it| !it.is_of_trait) {
                // The type's own file calls what stands here.
                let Some(home) = self.home(at, &block.path) else {
                    continue;
                };
                let of_home = self.modules.values().filter(|it| it.file == home);
                for caller in of_home {
                    let called = |name: &&String| caller.own_calls.contains(*name);
                    for name in block.functions.iter().filter(called) {
                        arrow(caller, module.file.clone(), &format!("self.{name}()"));
                    }
                }
            }
        }
        arrows
    }

    /// The lines of the `impl` blocks of each type, by its file and name, with the files where
    /// they stand.
    pub(super) fn lines_of_types(&self) -> BTreeMap<String, (usize, BTreeSet<&str>)> {
        let mut types = BTreeMap::<String, (usize, BTreeSet<&str>)>::new();
        for (at, module) in &self.modules {
            for block in &module.impls {
                let Some(home) = self.home(at, &block.path) else {
                    continue;
                };
                let name = block.path.last().map_or("", String::as_str);
                let (lines, files) = types.entry(format!("{home}: {name}")).or_default();
                *lines += block.lines;
                files.insert(&module.file);
            }
        }
        types
    }

    /// Paths that go around the table of rooms: out of the room by `super`, or by another name of
    /// the root.
    pub(super) fn ways_around(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (at, module) in &self.modules {
            let file = &module.file;
            let imports = module.imports.iter().map(|it| &it.path);
            if imports.clone().any(|path| *path == ["crate"]) {
                found.push(format!("{file} gives the root another name"));
            }
            for path in imports.chain(&module.paths) {
                let up = path.iter().filter(|name| *name == "super").count();
                // The root's own children are the rooms.
                if up > 0 && up >= at.len() {
                    found.push(format!("{file}: {} leaves the room", path.join("::")));
                }
            }
        }
        found
    }

    /// The files that the crate is made of.
    pub(super) fn files(&self) -> BTreeSet<&str> {
        self.modules.values().map(|it| it.file.as_str()).collect()
    }

    /// The file that defines a type; none for a type that is not the crate's.
    fn home(&self, at: &ModulePath, path: &[String]) -> Option<String> {
        match self.resolve(at, path, 0)? {
            Target::Item(file) => Some(file),
            Target::Module(_) => None,
        }
    }

    /// Where a path leads from a module. None where it leaves the crate.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<Target> {
        // Two modules may re-export all of one another.
        if depth > 20 {
            return None;
        }
        let mut at = from.clone();
        for (index, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop();
                }
                name => match self.lookup(&at, name, depth) {
                    Some(Target::Module(found)) => at = found,
                    Some(item) => return Some(item),
                    // Of what a macro made, only the module is known.
                    None if index > 0 && !at.is_empty() => {
                        return self
                            .modules
                            .get(&at)
                            .map(|it| Target::Item(it.file.clone()));
                    }
                    None => return None,
                },
            }
        }
        Some(Target::Module(at))
    }

    fn lookup(&self, at: &ModulePath, name: &str, depth: usize) -> Option<Target> {
        let module = self.modules.get(at)?;
        let mut child = at.clone();
        child.push(name.to_owned());
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        if module.items.contains(name) {
            return Some(Target::Item(module.file.clone()));
        }
        let imports = || module.imports.iter();
        if let Some(import) = imports().find(|it| it.name.as_deref() == Some(name)) {
            // `use regex::Regex` in a module with a child `regex` would be ambiguous to rustc too.
            let is_itself = import.path.len() == 1 && import.path[0] == name;
            return (!is_itself).then(|| self.resolve(at, &import.path, depth + 1))?;
        }
        imports().filter(|it| it.name.is_none()).find_map(|glob| {
            match self.resolve(at, &glob.path, depth + 1)? {
                Target::Module(found) if found != *at => self.lookup(&found, name, depth + 1),
                _ => None,
            }
        })
    }
}

fn crate_of(files: &[(&str, &str)]) -> Crate {
    let own = |(file, text): &(&str, &str)| ((*file).to_owned(), (*text).to_owned());
    Crate::of(&files.iter().map(own).collect(), without_tests)
}

fn check_arrows(files: &[(&str, &str)], expected: &[(&str, &str, &str)]) {
    let arrows = crate_of(files).arrows();
    let found: Vec<(&str, &str, String)> = arrows
        .iter()
        .map(|((from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            (from.as_str(), to.as_str(), names.join(" "))
        })
        .collect();
    let found: Vec<_> = found.iter().map(|(a, b, c)| (*a, *b, c.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_path_leads_to_the_file_that_defines_it() {
    let room = "mod x; pub mod y; mod z; pub use x::{X, self as other}; pub(crate) use y::*;";
    let files = |z: &'static str| {
        [
            ("lib.rs", "pub mod room;"),
            ("room/mod.rs", room),
            (
                "room/x.rs",
                "pub struct X; pub fn f() {} mod inner { pub struct I; }",
            ),
            (
                "room/y/mod.rs",
                "mod deep; pub enum Y { A } pub use deep::D;",
            ),
            ("room/y/deep.rs", "pub const D: u8 = 1;"),
            ("room/z.rs", z),
        ]
    };
    let (x, y, deep, z) = ("room/x.rs", "room/y/mod.rs", "room/y/deep.rs", "room/z.rs");
    check_arrows(&files("use super::X;"), &[(z, x, "X")]);
    check_arrows(
        &files("use crate::room::{X as A, Y, D};"),
        &[(z, x, "X"), (z, deep, "D"), (z, y, "Y")],
    );
    check_arrows(
        &files("use super::y; fn f() { y::Y::A; y::D }"),
        &[(z, deep, "y::D"), (z, y, "y::Y::A")],
    );
    check_arrows(
        &files("fn f() -> super::other::X {}"),
        &[(z, x, "super::other::X")],
    );
    check_arrows(
        &files("fn f() { super::x::inner::I }"),
        &[(z, x, "super::x::inner::I")],
    );
    check_arrows(
        &files("use super::y; use std::fmt; fn f() { fmt::x() }"),
        &[],
    );
    check_arrows(
        &files("#[cfg(test)] mod tests { use super::super::X; }"),
        &[],
    );
    check_arrows(&files("mod a { use super::super::X; }"), &[(z, x, "X")]);
    check_arrows(&files("pub use super::X;"), &[]);
    check_arrows(&files("pub use super::X; fn f(x: X) {}"), &[(z, x, "X")]);
}

#[test]
fn a_type_that_calls_its_methods_elsewhere_needs_them() {
    let files = [
        ("lib.rs", "mod room;"),
        ("room/mod.rs", "mod a; mod b;"),
        (
            "room/a.rs",
            "pub struct A; impl A { fn f(&self) {\n self.g() } }",
        ),
        (
            "room/b.rs",
            "use super::a::A; impl A {\n fn g(&self) {}\n }\n impl Drop for A {}",
        ),
    ];
    let (a, b) = ("room/a.rs", "room/b.rs");
    check_arrows(&files, &[(a, b, "self.g()"), (b, a, "A")]);
    let read = crate_of(&files);
    let types = read.lines_of_types();
    assert_eq!(types["room/a.rs: A"], (2 + 3 + 1, BTreeSet::from([a, b])));
}

#[test]
fn paths_around_the_table_of_rooms_are_refused() {
    let refused = |inner: &'static str| {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b;"),
            ("a/b.rs", inner),
        ];
        crate_of(&files).ways_around()
    };
    assert_eq!(
        refused("use super::c; mod d { use super::super::c; }").len(),
        0
    );
    assert_eq!(refused("use super::super::e;").len(), 1);
    assert_eq!(refused("fn f() { super::super::e::f() }").len(), 1);
    assert_eq!(
        refused("mod d { fn f() { super::super::super::e() } }").len(),
        1
    );
    assert_eq!(refused("use crate as g;").len(), 1);
    assert_eq!(refused("use crate::{self as g};").len(), 1);
    let files = [("lib.rs", "mod a;"), ("a/mod.rs", "use super::b::B;")];
    assert_eq!(crate_of(&files).ways_around().len(), 1);
}
