//! Tests of languages: sentences of many, and what is none.

use super::detect;

fn check(text: &str, expected: Option<&str>) {
    let found = detect(text);
    assert_eq!(found.map(|it| it.language), expected, "{text} {found:?}");
}

#[test]
fn sentences_tell_their_language() {
    for (text, language) in [
        (
            "The cat and the dog are in the house that was built for them.",
            "en",
        ),
        (
            "Der Hund und die Katze sind nicht in dem Haus, das für sie gebaut ist.",
            "de",
        ),
        (
            "Le chat est dans la maison et les chiens ne sont pas sur le toit.",
            "fr",
        ),
        (
            "El gat és a la casa i els gossos són al jardí amb els nens.",
            "ca",
        ),
        (
            "El gato está en la casa y los perros están en el jardín con los niños.",
            "es",
        ),
        (
            "O gato está dentro de casa e os cães não estão no jardim.",
            "pt",
        ),
        (
            "Il gatto è nella casa e i cani sono nel giardino con i bambini.",
            "it",
        ),
        (
            "Katten är i huset och hundarna är inte i trädgården med barnen.",
            "sv",
        ),
        (
            "Kočka je v domě a psi nejsou na zahradě, protože prší.",
            "cs",
        ),
        (
            "Mačka je v dome a psy nie sú v záhrade, pretože prší.",
            "sk",
        ),
        (
            "Kot jest w domu, a psy nie są w ogrodzie, ponieważ pada deszcz.",
            "pl",
        ),
        (
            "A macska a házban van, a kutyák pedig nincsenek a kertben.",
            "hu",
        ),
        (
            "Kissa on talossa, mutta koirat eivät ole puutarhassa.",
            "fi",
        ),
        (
            "Con mèo ở trong nhà và những con chó không ở trong vườn.",
            "vi",
        ),
        (
            "Кот и собака не в доме, это был дом для них, как в сказке.",
            "ru",
        ),
        ("Кіт у будинку, а собаки не в саду, тому що йде дощ.", "uk"),
        ("Котката е в къщата, а кучетата не са в градината.", "bg"),
        ("猫と犬は家の中にいますが、庭には誰もいません。", "ja"),
        ("猫和狗都在房子里，没有人在花园里。", "zh"),
        ("고양이와 개는 집 안에 있고 정원에는 아무도 없습니다.", "ko"),
        ("Η γάτα και ο σκύλος είναι μέσα στο σπίτι.", "el"),
        ("القطة والكلب في المنزل ولا يوجد أحد في الحديقة.", "ar"),
        ("گربه و سگ در خانه هستند و هیچ کس در باغ نیست.", "fa"),
        ("बिल्ली और कुत्ता घर में हैं और बगीचे में कोई नहीं है।", "hi"),
        // Names and code in Latin letters say nothing.
        (
            "Используйте apt-get install gcc и make, чтобы собрать программу.",
            "ru",
        ),
        (
            "apt-get を使って gcc と make をインストールしてください。",
            "ja",
        ),
    ] {
        check(text, Some(language));
    }
}

#[test]
fn what_is_no_sentence_has_no_language() {
    check("", None);
    check("12.50 3000 -- 17/4", None);
    check("Acme 3000, 12.50, Zurich", None);
}

#[test]
fn the_score_grows_with_the_text() {
    let sentence = "Der Hund und die Katze sind nicht im Haus. ";
    let [one, many] = [1, 12].map(|times| detect(&sentence.repeat(times)).unwrap());
    assert_eq!((one.language, many.language), ("de", "de"));
    assert!((550..=1_000).contains(&one.permille) && many.permille >= one.permille - 50);
}
