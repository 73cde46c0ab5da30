//! Sentences with the words that spaCy 3.8.18 tells apart in them.

use super::of;

fn check(code: &str, text: &str, expected: &str) {
    let words = of(code).split(text);
    let words: Vec<&str> = words.iter().map(|it| it.of(text)).collect();
    assert_eq!(words.join("|"), expected);
}

#[test]
fn words_are_told_apart_as_in_english() {
    check(
        "en",
        "Don't stop: it's the U.S.-based firm's 3.5km track (approx.).",
        "Do|n't|stop|:|it|'s|the|U.S.-based|firm|'s|3.5|km|track|(|approx|.|)|.",
    );
    check(
        "en",
        "Mr. O'Neil can't pay $5,000/month, e.g. for A/B-tests...",
        "Mr.|O'Neil|ca|n't|pay|$|5,000|/|month|,|e.g.|for|A|/|B|-|tests|...",
    );
    check(
        "en",
        "See https://example.org/a?b=c, or mail me@example.org!",
        "See|https://example.org/a?b=c|,|or|mail|me@example.org|!",
    );
    check(
        "en",
        "He said “well-known” – and left:-) at 9a.m.",
        "He|said|“|well|-|known|”|–|and|left:-|)|at|9|a.m.",
    );
    check(
        "en",
        "C++ isn't C#; cannot, gonna, 'Cause I'd've known.",
        "C++|is|n't|C|#|;|can|not|,|gon|na|,|'Cause|I|'d|'ve|known|.",
    );
    check(
        "en",
        "end.Start a,b 10-20% ½ km² 5°C. x=y",
        "end|.|Start|a|,|b|10|-|20|%|½|km²|5|°|C|.|x|=|y",
    );
    check(
        "en",
        "(see: [1], {2}) … wait….",
        "(|see|:|[|1|]|,|{|2|}|)|…|wait|…|.",
    );
    check(
        "en",
        "Rock'n'roll in the '90s @home #1",
        "Rock'n'roll|in|the|'|90s|@home|#|1",
    );
}

#[test]
fn other_languages_have_rules_of_their_own() {
    check(
        "de",
        "Das kostet z.B. 3,50€/kg bzw. 10-20 Euro.",
        "Das|kostet|z.B.|3,50€/kg|bzw.|10|-|20|Euro|.",
    );
    check(
        "de",
        "„Geht's?“ – U-Bahn und Ein-/Ausgang, Nr. 5.",
        "„|Geht's|?|“|–|U-Bahn|und|Ein-/Ausgang|,|Nr.|5.",
    );
    check(
        "fr",
        "L'homme n'a-t-il pas d'aujourd'hui ?",
        "L'|homme|n'|a|-t|-il|pas|d'|aujourd'hui|?",
    );
    check(
        "fr",
        "Saint-Denis-en-Val, c'est-à-dire l'arc-en-ciel.",
        "Saint-Denis-en-Val|,|c'|est|-|à|-|dire|l'|arc-en-ciel|.",
    );
    check(
        "nl",
        "'s Avonds om 5 uur, d.w.z. z'n fiets.",
        "'s|Avonds|om|5|uur|,|d.w.z.|z'n|fiets|.",
    );
    check(
        "it",
        "L'amico dell'arte, un po' d'acqua.",
        "L'|amico|dell'|arte|,|un|po'|d'|acqua|.",
    );
    check(
        "pt",
        "Guarda-chuva custa R$5, disse-me ele.",
        "Guarda-chuva|custa|R$|5|,|disse-me|ele|.",
    );
    check(
        "es",
        "¿Qué tal? Sr. García, EE.UU.",
        "¿|Qué|tal|?|Sr.|García|,|EE.UU.",
    );
    check(
        "pl",
        "Biało-czerwony, tj. np. 5-letni.",
        "Biało|-|czerwony|,|tj|.|np|.|5|-|letni|.",
    );
    check(
        "ru",
        "Кто-нибудь и т.д., г. Москва.",
        "Кто|-|нибудь|и|т.д.|,|г.|Москва|.",
    );
    check("el", "π.χ. 5-6 άτομα.", "π.χ.|5-6|άτομα|.");
    check("hu", "A 10-es busz, 3.5%-kal.", "A|10-es|busz|,|3.5%-kal|.");
    check(
        "tr",
        "Türkiye'nin 1923'te Dr. Ali.",
        "Türkiye'nin|1923'te|Dr.|Ali|.",
    );
    check("sv", "Jens' bil, t.ex. 5:e.", "Jens'|bil|,|t.ex.|5:e|.");
    check(
        "fa",
        "می‌خواهم، کتاب‌ها را بخوانم.",
        "می‌خواهم|،|کتاب‌ها|را|بخوانم|.",
    );
    check("id", "Anak-anak di Rp5.000,-", "Anak-anak|di|Rp|5.000|,|-");
    check("ca", "L'home de l'illa-hi.", "L'|home|de|l'|illa|-hi|.");
    check(
        "xx",
        "Salom, dunyo! a.b foo-bar",
        "Salom|,|dunyo|!|a.b|foo|-|bar",
    );
}

#[test]
fn white_space_is_no_word_but_is_told() {
    check("en", "a  b\n\nc ", "a| |b|\n\n|c");
    check("en", "", "");
    check("en", " \n", " \n");
}

#[test]
fn no_text_takes_long() {
    for piece in ["(", ".", "a.", "a-", "@:", "'s", "http://", "5km", "“"] {
        let text = piece.repeat(20_000);
        let long = of("en").split(&text);
        assert_eq!(
            long.len(),
            1,
            "{piece} is one word beyond a thousand characters"
        );
        let text = text.chars().take(150).collect::<String>();
        for code in ["en", "el", "fr", "hu", "tr"] {
            let words = of(code).split(&text);
            assert_eq!(words.last().map(|it| it.end), Some(text.len()), "{piece}");
        }
    }
}
