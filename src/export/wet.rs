//! Texts as WARC records, as Common Crawl's WET files have them: a `conversion` for each page.

use jiff::Timestamp;

use super::reading::{Found, Reader};
use crate::archive::{Capture, Record, RecordId, warcinfo_member};

/// Returns the record of a page, as a gzip member; `None` if the page has no text.
pub fn conversion(found: &Found<'_>, reader: &Reader) -> Option<Vec<u8>> {
    let text = &found.read.as_ref()?.page.main_text;
    if text.is_empty() {
        return None;
    }
    let capture = Capture {
        target: &found.line.url,
        date: found.line.time.parse().unwrap_or(Timestamp::UNIX_EPOCH),
        ip: None,
        protocols: &[],
    };
    let record = reader.record_id(found);
    let record = record.as_deref().and_then(RecordId::parse);
    let detected = found.language.detected.as_ref();
    let language = detected.map(|(language, _)| three_letters(language));
    let record = Record::conversion(&capture, record, text).in_language(language);
    Some(record.to_member())
}

/// Returns the record that opens a file of this name, as a gzip member.
pub fn opening(name: &str) -> Vec<u8> {
    let fields = [(
        "description".to_owned(),
        "main texts of web pages, each derived from the record that it refers to".to_owned(),
    )];
    warcinfo_member(name, &fields)
}

/// Returns the code of ISO 639-3 of a language, by which such records name it.
pub(super) fn three_letters(code: &str) -> &str {
    match code {
        "af" => "afr",
        "am" => "amh",
        "ar" => "ara",
        "as" => "asm",
        "be" => "bel",
        "bg" => "bul",
        "bn" => "ben",
        "bo" => "bod",
        "br" => "bre",
        "bs" => "bos",
        "ca" => "cat",
        "cs" => "ces",
        "cy" => "cym",
        "da" => "dan",
        "de" => "deu",
        "dv" => "div",
        "el" => "ell",
        "en" => "eng",
        "eo" => "epo",
        "es" => "spa",
        "et" => "est",
        "eu" => "eus",
        "fa" => "fas",
        "fi" => "fin",
        "fr" => "fra",
        "ga" => "gle",
        "gd" => "gla",
        "gl" => "glg",
        "gu" => "guj",
        "he" => "heb",
        "hi" => "hin",
        "hr" => "hrv",
        "hu" => "hun",
        "hy" => "hye",
        "id" => "ind",
        "is" => "isl",
        "it" => "ita",
        "ja" => "jpn",
        "ka" => "kat",
        "kk" => "kaz",
        "km" => "khm",
        "kn" => "kan",
        "ko" => "kor",
        "ku" => "kur",
        "ky" => "kir",
        "lo" => "lao",
        "lt" => "lit",
        "lv" => "lav",
        "mk" => "mkd",
        "ml" => "mal",
        "mn" => "mon",
        "mr" => "mar",
        "ms" => "msa",
        "my" => "mya",
        "nb" => "nob",
        "ne" => "nep",
        "nl" => "nld",
        "nn" => "nno",
        "oc" => "oci",
        "or" => "ori",
        "pa" => "pan",
        "pl" => "pol",
        "ps" => "pus",
        "pt" => "por",
        "ro" => "ron",
        "ru" => "rus",
        "si" => "sin",
        "sk" => "slk",
        "sl" => "slv",
        "sq" => "sqi",
        "sr" => "srp",
        "sv" => "swe",
        "ta" => "tam",
        "te" => "tel",
        "tg" => "tgk",
        "th" => "tha",
        "tr" => "tur",
        "tt" => "tat",
        "ug" => "uig",
        "uk" => "ukr",
        "ur" => "urd",
        "uz" => "uzb",
        "vi" => "vie",
        "xh" => "xho",
        "zh" => "zho",
        // The others have three letters.
        other => other,
    }
}
