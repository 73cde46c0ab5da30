//! The page as one file that opens from disk: its modules joined, its sheet and its data inside.
//! Nothing in it comes from elsewhere, and its policy lets nothing in.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::assets::{FILES, File, SHEET};

/// Makes the file. `data` is JSON: `made`, the time, and `answers` by their path in the API.
pub fn saved_page(title: &str, data: &str) -> String {
    let script = format!("\"use strict\";\nconst modules = {{}};\n{}", joined());
    let sheet = text_of(SHEET);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'\">\n\
         <title>{}</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <style>{sheet}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <noscript><p>This report needs JavaScript. <code>gleaner report --data-dir DIR</code> tells the same in a terminal.</p></noscript>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n",
        hash(&script),
        hash(sheet),
        title.replace('&', "&amp;").replace('<', "&lt;"),
        // In a string of JSON this is the same letter, and nothing can end the element.
        data.replace('<', "\\u003c"),
    )
}

/// What a policy calls a script or a sheet that may stand in the page.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

fn text_of(name: &str) -> &'static str {
    let file = FILES.iter().find(|it| it.name == name);
    file.map_or("", |it| it.text)
}

/// All modules in one script, each in a function of its own.
fn joined() -> String {
    let modules = FILES.iter().filter(|it| it.kind() == "js");
    let mut script = String::new();
    for File { name, text } in modules {
        let _ = writeln!(
            script,
            "modules['{name}'] = (() => {{\n{}\n}})();",
            as_function(text)
        );
    }
    script
}

/// The body of a function that returns what a module exports. Knows the forms that modules of the
/// page have: `import { a, b as c } from './x.js';` on a line, `export` before a declaration, and
/// one `export{a as b,…};` at the end.
fn as_function(text: &str) -> String {
    let mut body = String::with_capacity(text.len());
    let mut exported = Vec::new();
    for line in text.lines() {
        if let Some((names, from)) = imported(line) {
            let names = names.replace(" as ", ": ");
            let _ = writeln!(body, "const {{{names}}} = modules['{from}'];");
            continue;
        }
        let declared = line.strip_prefix("export ");
        if let Some(declared) = declared {
            let words = declared.split(|it: char| !it.is_alphanumeric() && it != '_');
            let is_name = |it: &&str| !["async", "function", "const", "class", ""].contains(it);
            exported.extend(words.clone().find(is_name).map(str::to_owned));
        }
        body.push_str(declared.unwrap_or(line));
        body.push('\n');
    }
    if let Some(at) = body.rfind("export{") {
        let names = body[at..].trim_start_matches("export{");
        let names = names.trim_end().trim_end_matches(';').trim_end_matches('}');
        let pairs = names.split(',').map(|it| match it.split_once(" as ") {
            Some((own, name)) => format!("{name}: {own}"),
            None => it.to_owned(),
        });
        exported.extend(pairs);
        body.truncate(at);
    }
    let _ = write!(body, "\nreturn {{ {} }};", exported.join(", "));
    body
}

/// The names that a line imports, and from where.
fn imported(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("import {")?;
    let (names, from) = rest.split_once("} from './")?;
    Some((names, from.strip_suffix("';")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_becomes_a_function() {
        let module = "import { a, b as c } from './x.js';\nconst d = 1;\nexport const e = 2;\n\
                      export async function f() {}\nexport class G {}\n";
        assert_eq!(
            as_function(module),
            "const { a, b: c } = modules['x.js'];\nconst d = 1;\nconst e = 2;\n\
             async function f() {}\nclass G {}\n\nreturn { e, f, G };"
        );
        assert_eq!(
            as_function("const a=1;export{a as h,b};\n"),
            "const a=1;\nreturn { h: a, b };"
        );
    }

    #[test]
    fn modules_have_the_forms_that_are_known() {
        for File { name, text } in FILES.iter().filter(|it| it.kind() == "js") {
            let function = as_function(text);
            let left = function
                .lines()
                .find(|it| it.starts_with("import ") || it.starts_with("export"));
            assert_eq!(left, None, "{name}");
            for end in ["</script", "<!--"] {
                assert!(!text.contains(end), "{name} has {end}");
            }
        }
        assert!(!text_of(SHEET).contains("</"));
    }

    #[test]
    fn data_cannot_end_the_element_that_holds_it() {
        let page = saved_page("a <b> & c", r#"{"a":"</script><script>alert(1)</script>"}"#);
        assert!(page.contains("<title>a &lt;b> &amp; c</title>"));
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(page.contains(r#"{"a":"\u003c/script>\u003cscript>alert(1)"#));
        for elsewhere in ["src=", "href=\"http", "url(", "@import"] {
            let head = page.split("<script type=\"module\">").next().unwrap();
            assert!(!head.contains(elsewhere), "{elsewhere}");
        }
    }
}
