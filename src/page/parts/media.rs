//! The elements that a reader sees and that have no text: images, films, embedded pages and form
//! fields.

use html5ever::{LocalName, local_name};

use crate::page::html::{Element, Outline, OutlineElement, Tag, attribute};

/// What one element without text says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// The address of an image or the like, and its alternative text.
    Image(&'a str, &'a str),
    /// The value of a form field.
    Value(&'a str),
    /// The texts of this element: options of a list, or what stands in a text area.
    Texts,
}

/// What the element at an index of the outline says.
pub(super) fn said<'a>(outline: &Outline<'a>, item: &OutlineElement<'a>) -> Option<Said<'a>> {
    let element = item.element;
    match item.tag {
        // `<amp-img>` and the like.
        Tag::Img | Tag::Custom => {
            let alternative = attribute(element, &local_name!("alt")).unwrap_or_default();
            let address = image(element)?;
            Some(Said::Image(address, alternative))
        }
        Tag::Video | Tag::Audio | Tag::Iframe | Tag::Frame => {
            let address = attribute(element, &local_name!("src"))
                .or_else(|| plain_attribute(element, "data-src"))?;
            Some(Said::Image(address, ""))
        }
        Tag::Object => attribute(element, &local_name!("data")).map(|it| Said::Image(it, "")),
        Tag::Other => {
            let is_source = *element.name() == local_name!("source")
                && outline
                    .elements
                    .get(item.parent)
                    .is_some_and(|it| matches!(it.tag, Tag::Video | Tag::Audio));
            let is_media = is_source || *element.name() == local_name!("embed");
            let address = attribute(element, &local_name!("src")).filter(|_| is_media)?;
            Some(Said::Image(address, ""))
        }
        Tag::Input => input(element).map(Said::Value),
        Tag::Select | Tag::Textarea => Some(Said::Texts),
        Tag::Option if has(element, &local_name!("selected")) => Some(Said::Texts),
        // A picture that is only a background.
        Tag::A | Tag::Div | Tag::Figure | Tag::Section | Tag::Span | Tag::Li => {
            let style = attribute(element, &local_name!("style"))?;
            background(style).map(|address| Said::Image(address, ""))
        }
        _ => None,
    }
}

/// The address of an image: the true one where scripts put it in place later.
fn image(element: Element<'_>) -> Option<&str> {
    let is_real = |address: &&str| !address.trim().is_empty();
    ["data-src", "data-original", "data-lazy-src"]
        .iter()
        .find_map(|name| plain_attribute(element, name))
        .filter(is_real)
        .or_else(|| {
            let source = attribute(element, &local_name!("src")).filter(is_real);
            source.or_else(|| {
                let set = attribute(element, &local_name!("srcset"))?;
                set.trim().split([' ', ',']).find(is_real)
            })
        })
}

/// The value of a visible field. Hidden fields hold tokens, passwords nothing.
fn input(element: Element<'_>) -> Option<&str> {
    let kind = attribute(element, &local_name!("type")).unwrap_or("text");
    let is_one_of = |kinds: &[&str]| kinds.iter().any(|it| kind.trim().eq_ignore_ascii_case(it));
    if is_one_of(&[
        "hidden", "password", "file", "image", "submit", "button", "reset",
    ]) {
        return None;
    }
    if is_one_of(&["radio", "checkbox"]) && !has(element, &local_name!("checked")) {
        return None;
    }
    let value = attribute(element, &local_name!("value"))?;
    Some(value).filter(|value| !value.trim().is_empty())
}

/// The address in `url(...)` of an inline style.
fn background(style: &str) -> Option<&str> {
    let (_, rest) = style.split_once("url(")?;
    let (address, _) = rest.split_once(')')?;
    let address = address.trim().trim_matches(['"', '\'']);
    Some(address).filter(|address| !address.is_empty())
}

fn has(element: Element<'_>, name: &LocalName) -> bool {
    attribute(element, name).is_some()
}

/// The value of an attribute whose name is not interned.
fn plain_attribute<'a>(element: Element<'a>, name: &str) -> Option<&'a str> {
    let found = element.attributes().find(|(key, _)| ***key == *name);
    found.map(|(_, value)| value)
}
