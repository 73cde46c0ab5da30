//! A formula as one line of text: as its author wrote it in TeX, if the page says so, else the
//! symbols of its `MathML` with `^`, `_` and `/` where their places say something.
//!
//! Pages that are made from TeX carry it as an annotation or as alternative text beside the symbols
//! (`MathML` Core, section 6.1). Both together would say everything twice.

use html5ever::local_name;
use scraper::ElementRef;

/// Maximum number of levels; what is nested deeper is left out.
const MAX_LEVELS: usize = 64;

/// The pieces of text that the formula in a `<math>` element is made of.
pub(super) fn pieces(math: ElementRef<'_>) -> Vec<&str> {
    if let Some(tex) = tex(math) {
        return vec![tex];
    }
    let mut pieces = Vec::new();
    write(math, MAX_LEVELS, &mut pieces);
    pieces
}

/// The formula in TeX, as an annotation or in `alttext`.
fn tex(math: ElementRef<'_>) -> Option<&str> {
    let annotated = math.descendent_elements().find_map(|element| {
        if element.value().name.local != local_name!("annotation") {
            return None;
        }
        let encoding = element.value().attr("encoding")?;
        let is_tex = encoding.to_ascii_lowercase().ends_with("tex");
        element.text().next().filter(|_| is_tex)
    });
    annotated
        .or_else(|| math.value().attr("alttext"))
        .map(str::trim)
        .filter(|tex| !tex.is_empty())
}

fn write<'a>(element: ElementRef<'a>, levels: usize, pieces: &mut Vec<&'a str>) {
    let Some(levels) = levels.checked_sub(1) else {
        return;
    };
    // What stands between the parts.
    let marks: &[&str] = match &*element.value().name.local {
        "annotation" | "annotation-xml" | "mphantom" => return,
        "msup" | "mover" => &["^"],
        "msub" | "munder" => &["_"],
        "msubsup" | "munderover" => &["_", "^"],
        "mfrac" => &["/"],
        "msqrt" => {
            pieces.push("√(");
            write_children(element, &[], levels, pieces);
            pieces.push(")");
            return;
        }
        "mtd" | "mtr" | "mspace" => {
            pieces.push(" ");
            &[]
        }
        _ => &[],
    };
    write_children(element, marks, levels, pieces);
}

fn write_children<'a>(
    element: ElementRef<'a>,
    marks: &[&'a str],
    levels: usize,
    pieces: &mut Vec<&'a str>,
) {
    let mut parts = 0;
    for child in element.children() {
        let Some(child) = ElementRef::wrap(child) else {
            let text = child.value().as_text();
            pieces.extend(text.map(|text| text.trim()).filter(|text| !text.is_empty()));
            continue;
        };
        if parts > 0
            && let Some(mark) = marks.get(parts - 1)
        {
            pieces.push(mark);
        }
        parts += 1;
        // What has several parts is held together, as in `(a+b)/2`.
        let begin = pieces.len();
        write(child, levels, pieces);
        if !marks.is_empty() && pieces.len() > begin + 1 {
            pieces.insert(begin, "(");
            pieces.push(")");
        }
    }
}
