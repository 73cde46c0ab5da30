//! The modules of a file as their tokens declare them: the names that each has, the paths that it
//! writes, and its `impl` blocks.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Token, group_end};

/// Names of modules from the crate's root: `["engine", "committer"]`. The root has none.
pub(super) type ModulePath = Vec<String>;

/// A name that a module has by a `use`; none for all names of a module, as in `use super::*`.
pub(super) struct Import {
    pub(super) name: Option<String>,
    pub(super) path: Vec<String>,
    pub(super) is_public: bool,
}

/// An `impl` block.
pub(super) struct Impl {
    /// The type, as it is written.
    pub(super) path: Vec<String>,
    pub(super) is_of_trait: bool,
    pub(super) lines: usize,
    pub(super) functions: Vec<String>,
}

#[derive(Default)]
pub(super) struct Module {
    pub(super) file: String,
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// The paths of at least two names that its code has, imports aside.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// Every word of its code, imports aside.
    pub(super) words: BTreeSet<String>,
    /// What it calls as `self.name` or `Self::name`.
    pub(super) own_calls: BTreeSet<String>,
    pub(super) impls: Vec<Impl>,
}

/// What a file declares.
#[derive(Default)]
pub(super) struct Declared {
    /// The file's module, and those within it.
    pub(super) modules: BTreeMap<ModulePath, Module>,
    /// Modules that have files of their own.
    pub(super) elsewhere: Vec<ModulePath>,
}

/// Reads the file of a module.
pub(super) fn declared(file: &str, path: &ModulePath, tokens: &[Token<'_>]) -> Declared {
    let mut reader = Reader {
        tokens,
        file,
        found: Declared::default(),
    };
    reader.module(0, path);
    reader.found
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    file: &'a str,
    found: Declared,
}

impl Reader<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn is_name(&self, at: usize) -> bool {
        let first = self.text(at).chars().next();
        first.is_some_and(|letter| letter.is_alphabetic() || letter == '_')
    }

    /// Reads a module from its first token to its closing brace or the end of the file; gives where
    /// that is.
    fn module(&mut self, start: usize, path: &ModulePath) -> usize {
        let mut module = Module {
            file: self.file.to_owned(),
            ..Module::default()
        };
        let mut depth = 0_usize;
        let mut at = start;
        while at < self.tokens.len() {
            match self.text(at) {
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "mod" if self.is_name(at + 1) => {
                    let mut inner = path.clone();
                    inner.push(self.text(at + 1).to_owned());
                    if self.text(at + 2) == "{" {
                        at = self.module(at + 3, &inner);
                    } else {
                        self.found.elsewhere.push(inner);
                        at += 2;
                    }
                }
                "use" if self.text(at + 1) != "<" => {
                    let is_public = at > 0 && matches!(self.text(at - 1), "pub" | ")");
                    at = self.tree(at + 1, &mut Vec::new(), is_public, &mut module.imports);
                }
                "impl" if depth == 0 && self.begins_item(at) => {
                    module.impls.extend(self.block(at));
                }
                _ if self.is_name(at) => at = self.names(at, depth, &mut module),
                _ => {}
            }
            at += 1;
        }
        self.found.modules.insert(path.clone(), module);
        at
    }

    fn begins_item(&self, at: usize) -> bool {
        at == 0 || matches!(self.text(at - 1), "}" | ";" | "]" | "unsafe")
    }

    /// Notes the path that begins here, and the item that it names if it declares one; gives its
    /// last token.
    fn names(&self, start: usize, depth: usize, module: &mut Module) -> usize {
        let text = self.text(start);
        if depth == 0 {
            let declares = match text {
                "struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static" => {
                    self.is_name(start + 1) && self.text(start + 1) != "fn"
                }
                _ => false,
            };
            if declares {
                module.items.insert(self.text(start + 1).to_owned());
            }
        }
        let mut path = vec![text.to_owned()];
        let mut at = start;
        while self.text(at + 1) == "::" && self.is_name(at + 2) {
            path.push(self.text(at + 2).to_owned());
            at += 2;
        }
        if text == "self" && self.text(start + 1) == "." && self.text(start + 3) == "(" {
            module.own_calls.insert(self.text(start + 2).to_owned());
        }
        if let ["Self", name] = path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            module.own_calls.insert(name.to_owned());
        }
        module.words.extend(path.iter().cloned());
        let is_first = start == 0 || self.text(start - 1) != "::";
        if path.len() > 1 && is_first {
            module.paths.insert(path);
        }
        at
    }

    /// Reads one tree of a `use`; gives the token after it.
    fn tree(
        &self,
        start: usize,
        prefix: &mut Vec<String>,
        is_public: bool,
        imports: &mut Vec<Import>,
    ) -> usize {
        let before = prefix.len();
        let mut at = start;
        let mut name = None;
        let mut is_whole = true;
        loop {
            match self.text(at) {
                "::" => {}
                "{" => {
                    at += 1;
                    while !matches!(self.text(at), "}" | "") {
                        at = self.tree(at, prefix, is_public, imports);
                        at += usize::from(self.text(at) == ",");
                    }
                    is_whole = false;
                }
                "*" => {
                    imports.push(Import {
                        name: None,
                        path: prefix.clone(),
                        is_public,
                    });
                    is_whole = false;
                }
                "as" => {
                    at += 1;
                    name = Some(self.text(at).to_owned());
                }
                // `use a::{self, b}`
                "self" if !prefix.is_empty() => {}
                _ if self.is_name(at) => prefix.push(self.text(at).to_owned()),
                _ => break,
            }
            at += 1;
        }
        if is_whole && !prefix.is_empty() {
            let path = prefix.clone();
            let name = name.or_else(|| path.last().cloned());
            imports.push(Import {
                name,
                path,
                is_public,
            });
        }
        prefix.truncate(before);
        at
    }

    /// Reads the head of an `impl` block, and what the block has.
    fn block(&self, start: usize) -> Option<Impl> {
        let mut at = start + 1;
        if self.text(at) == "<" {
            at = self.angles_end(at);
        }
        let mut path = Vec::new();
        let mut is_of_trait = false;
        while !matches!(self.text(at), "{" | "where" | "") {
            match self.text(at) {
                "<" => {
                    at = self.angles_end(at);
                    continue;
                }
                "for" => {
                    is_of_trait = true;
                    path.clear();
                }
                "'" => at += 1,
                "dyn" | "mut" => {}
                _ if self.is_name(at) => path.push(self.text(at).to_owned()),
                _ => {}
            }
            at += 1;
        }
        while !matches!(self.text(at), "{" | "") {
            at += 1;
        }
        let end = group_end(self.tokens, at);
        let lines = 1 + self.tokens.get(end - 1)?.line - self.tokens[start].line;
        let functions = (at..end)
            .filter(|at| self.text(*at) == "fn")
            .map(|at| self.text(at + 1).to_owned())
            .collect();
        (!path.is_empty()).then_some(Impl {
            path,
            is_of_trait,
            lines,
            functions,
        })
    }

    /// One past the `>` of the `<` that stands here.
    fn angles_end(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = open;
        while at < self.tokens.len() {
            match self.text(at) {
                "<" => depth += 1,
                ">" if self.text(at - 1) != "-" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at
    }
}
