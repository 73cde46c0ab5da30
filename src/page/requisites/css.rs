//! The files that CSS names: by `url()`, `src()`, `image-set()` and `@import`.
//!
//! Which of them a browser asks for depends on the page, the screen and the formats that it knows,
//! so all are taken, wherever they stand.

use cssparser::{ParseError, Parser, Token};

use super::RequisiteKind;

/// Passes on each reference of a style sheet or of the declarations of a `style` attribute.
pub(super) fn each_reference(css: &str, each: &mut dyn FnMut(&str, RequisiteKind)) {
    // Most `style` attributes name nothing.
    if memchr::memchr2(b'(', b'@', css.as_bytes()).is_some() {
        walk(&mut Parser::new(css), false, each);
    }
}

/// What the next URL or string of a rule is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A URL names a file; a string names nothing.
    File,
    /// The style sheet of an `@import`.
    Import,
    /// The name of a namespace, which nobody fetches.
    Name,
}

/// Walks over the tokens of a block. In `image-set()`, strings are URLs too (`has_strings`). Blocks
/// that are nested too deep are read as part of the one around them.
fn walk(parser: &mut Parser<'_>, has_strings: bool, each: &mut dyn FnMut(&str, RequisiteKind)) {
    let mut expected = Expected::File;
    let mut take = |url: &str, expected: &mut Expected| {
        match *expected {
            Expected::File => each(url, RequisiteKind::File),
            Expected::Import => each(url, RequisiteKind::Style),
            Expected::Name => {}
        }
        if *expected == Expected::Import {
            *expected = Expected::File;
        }
    };
    while let Ok(token) = parser.next() {
        let (is_url, is_set) = match token.clone() {
            Token::UnquotedUrl(url) => {
                take(&url, &mut expected);
                continue;
            }
            Token::QuotedString(url) => {
                if has_strings || expected == Expected::Import {
                    take(&url, &mut expected);
                }
                continue;
            }
            Token::AtKeyword(name) => {
                expected = match () {
                    () if name.eq_ignore_ascii_case("import") => Expected::Import,
                    () if name.eq_ignore_ascii_case("namespace") => Expected::Name,
                    () => Expected::File,
                };
                continue;
            }
            Token::Semicolon => {
                expected = Expected::File;
                continue;
            }
            Token::CurlyBracketBlock => {
                expected = Expected::File;
                (false, false)
            }
            Token::ParenthesisBlock | Token::SquareBracketBlock => (false, false),
            Token::Function(name) => {
                let is_url = ["url", "src"]
                    .iter()
                    .any(|it| name.eq_ignore_ascii_case(it));
                let sets = ["image-set", "-webkit-image-set"];
                (is_url, sets.iter().any(|it| name.eq_ignore_ascii_case(it)))
            }
            _ => continue,
        };
        // What is left of a block that ends otherwise than expected is skipped.
        let _ = parser.parse_nested_block(|nested| -> Result<(), ParseError<()>> {
            if !is_url {
                walk(nested, is_set, &mut |url, kind| match kind {
                    RequisiteKind::File => take(url, &mut Expected::File),
                    _ => take(url, &mut Expected::Import),
                });
            } else if let Ok(url) = nested.expect_string_cloned() {
                take(&url, &mut expected);
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(css: &str, styles: &[&str], files: &[&str]) {
        let (mut found_styles, mut found_files) = (Vec::new(), Vec::new());
        each_reference(css, &mut |url, kind| match kind {
            RequisiteKind::Style => found_styles.push(url.to_owned()),
            _ => found_files.push(url.to_owned()),
        });
        assert_eq!(found_styles, styles, "style sheets of {css:?}");
        assert_eq!(found_files, files, "files of {css:?}");
    }

    #[test]
    fn imports_are_style_sheets() {
        check("@import 'a.css';", &["a.css"], &[]);
        check("@IMPORT url(a.css) screen;", &["a.css"], &[]);
        check(
            "@import url( \"a.css\" ) layer(x) supports(display: grid);",
            &["a.css"],
            &[],
        );
        check(
            "@import 'a.css'; @import \"b.css\"; p { color: red }",
            &["a.css", "b.css"],
            &[],
        );
        check("@import 'a.css' x; p { content: 'b.css' }", &["a.css"], &[]);
        check("/* @import 'a.css'; */", &[], &[]);
        check(
            "@namespace svg url(http://www.w3.org/2000/svg); @import 'a.css';",
            &["a.css"],
            &[],
        );
        check(
            "@namespace 'x'; p { background: url(a.png) }",
            &[],
            &["a.png"],
        );
    }

    #[test]
    fn files_are_found_wherever_they_stand() {
        check(
            "p { background: url(a.png) no-repeat, url('b.png') }",
            &[],
            &["a.png", "b.png"],
        );
        check("background:URL( a.png )", &[], &["a.png"]);
        check("p{background:u\\72l(a.png)}", &[], &["a.png"]);
        check("p{background:url(a\\ b.png)}", &[], &["a b.png"]);
        check(
            "@font-face { src: url(a.woff2) format('woff2'), url(\"a.woff\") format(\"woff\"), local('x') }",
            &[],
            &["a.woff2", "a.woff"],
        );
        check(
            "@media print { @supports (x: y) { p { cursor: url(a.cur), auto } } }",
            &[],
            &["a.cur"],
        );
        check("p { --x: url(a.png) }", &[], &["a.png"]);
        check(
            "p{background:image-set('a.png' 1x type('image/png'), url(b.png) 2x)}",
            &[],
            &["a.png", "b.png"],
        );
        check(
            "p{background:-webkit-image-set(url(a.png) 1x)}",
            &[],
            &["a.png"],
        );
        check("p::before{content:'url(a.png)'}", &[], &[]);
        check("p{background:src('a.png')}", &[], &["a.png"]);
    }

    #[test]
    fn broken_css_costs_what_is_broken() {
        check("p { background: url(a.png", &[], &["a.png"]);
        check(
            "p { x: url(a b) } q { background: url(c.png) }",
            &[],
            &["c.png"],
        );
        check("} p { background: url(a.png) }", &[], &["a.png"]);
        let deep = "{".repeat(100_000) + "url(a.png)";
        each_reference(&deep, &mut |_, _| {});
        let deep = "(".repeat(100_000) + &"url(".repeat(1_000);
        each_reference(&deep, &mut |_, _| {});
    }

    proptest! {
        /// No text causes a panic.
        #[test]
        fn anything_may_be_read(css in "(@import |url\\(|image-set\\(|[{}();'\"\\\\@a, ]|\\PC){0,40}") {
            each_reference(&css, &mut |_, _| {});
        }
    }
}
