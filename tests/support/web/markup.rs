//! The pages of the built-in web: an article inside a frame of header, links, aside and footer,
//! written plainly or in another markup that reads the same.

/// What surrounds an article.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Title of the document.
    pub title: String,
    /// A line above the page.
    pub header: String,
    /// A note beside the article.
    pub aside: Option<String>,
    /// A line below the page.
    pub footer: String,
    /// Where the page links to: reference (already escaped) and text.
    pub links: Vec<(String, String)>,
}

/// The page in plain markup.
pub fn plain(frame: &Frame, paragraphs: &[String]) -> String {
    let links = each(&frame.links, |(href, text)| {
        format!("<li><a href=\"{href}\">{text}</a></li>\n")
    });
    let paragraphs = each(paragraphs, |text| format!("<p>{text}</p>\n"));
    let aside = each(frame.aside.as_slice(), |text| {
        format!("<aside><p>{text}</p></aside>\n")
    });
    let Frame {
        title,
        header,
        footer,
        ..
    } = frame;
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <title>{title}</title></head>\n<body>\n<header><p>{header}</p></header>\n\
         <nav><ul>\n{links}</ul></nav>\n<main><article>\n{paragraphs}</article></main>\n\
         {aside}<footer><p>{footer}</p></footer>\n</body>\n</html>\n"
    )
}

/// The same page for the eye in other bytes: attributes, comments, white space, inline elements,
/// scripts and character references differ from [`plain`] and between versions.
pub fn reworked(frame: &Frame, paragraphs: &[String], version: usize) -> String {
    let links = each(&frame.links, |(href, text)| {
        format!(
            "  <li class=\"v{version}\"><a class='go' href=\"{href}\"><span>{text}</span></a>\n"
        )
    });
    let paragraphs = each(paragraphs, |text| {
        format!(
            "\n   <p data-version=\"{version}\">{}</p>",
            respelled(text, version)
        )
    });
    let aside = each(frame.aside.as_slice(), |text| {
        format!("<aside id='beside'><p>{text}</p></aside>")
    });
    let Frame {
        title,
        header,
        footer,
        ..
    } = frame;
    format!(
        "<!DOCTYPE html>\n<!-- version {version} -->\n<html class=\"v{version}\" lang=\"en\">\n\
         <head>\n  <title>{title}</title>\n  <meta charset=\"utf-8\">\n  \
         <style>.v{version} p {{ margin: {version}em }}</style>\n  \
         <script>var version = {version};</script>\n</head>\n<body id=\"b{version}\">\n\n\
         <header class='top'>\n<p>{header}</p>\n</header>\n<nav class='side'><ul>\n{links}</ul>\n\
         </nav>\n<main id=\"main\"><article class=\"v{version}\">{paragraphs}\n</article>\n</main>\n\
         {aside}<footer class='end'><p>\n{footer}\n</p></footer><!-- end {version} -->\n\
         </body></html>"
    )
}

/// A paragraph with its white space changed and whole words put into inline elements: between
/// two words there is white space before and after, so that the words stay the same.
fn respelled(text: &str, version: usize) -> String {
    let element = ["b", "i", "em", "span"][version % 4];
    let mut respelled = String::new();
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            respelled.push_str(if place % 11 == version % 11 {
                "\n      "
            } else {
                " "
            });
        }
        if place % 9 == version % 9 {
            respelled.extend(["<", element, ">", word, "</", element, ">"]);
        } else if place % 13 == version % 13 && word.is_ascii() {
            let (first, rest) = word.split_at(1);
            respelled.extend(["&#", &first.as_bytes()[0].to_string(), ";", rest]);
        } else {
            respelled.push_str(word);
        }
    }
    respelled
}

fn each<T>(items: &[T], write: impl Fn(&T) -> String) -> String {
    items.iter().map(write).collect()
}
