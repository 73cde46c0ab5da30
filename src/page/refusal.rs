//! Refusals: pages that a server sends with status 200 instead of the one requested, such as
//! challenges, access denials and consent questions.
//!
//! Two things must come together: what such a page says, in a few words and in one of several
//! languages, and how it is built: little text, hardly any links, and the script or form of a
//! challenge. A page about CAPTCHAs says the same but is built differently, and a page with a
//! CAPTCHA in its form has links and text of its own. A refusal that is missed here is found when
//! it repeats itself, whereas a page that is taken for a refusal is lost as an original, so in
//! doubt it counts as a page.

use html5ever::local_name;
use serde::{Deserialize, Serialize};

use super::cut::floor_char_boundary;
use super::html::{Outline, Tag, attribute};

/// What was sent instead of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// A challenge: a CAPTCHA or another test that the visitor is human.
    Challenge,
    /// An access denial.
    Denied,
    /// A question for consent, for example to cookies.
    Consent,
}

/// Maximum number of characters of visible text: of a challenge or denial, of one that only its
/// headline gives away, of a bare denial, and of a consent question.
const MAX_TEST: usize = 900;
const MAX_UNMARKED_TEST: usize = 450;
const MAX_BARE: usize = 80;
const MAX_CONSENT: usize = 3_000;

/// Maximum number of links. A challenge may link to its vendor, a consent question to its terms.
const MAX_TEST_LINKS: usize = 6;
const MAX_UNMARKED_LINKS: usize = 1;
const MAX_DENIED_LINKS: usize = 3;
const MAX_CONSENT_LINKS: usize = 15;

/// Number of bytes of the page that are searched for scripts, of which the tree has only the names.
const MAX_SEARCHED: usize = 64 << 10;

/// Number of bytes of a script that are searched.
const MAX_SCRIPT: usize = 4_096;

/// Phrases of challenges.
const TEST: &str = "verify you are human | verify that you are human | verifying you are human | \
    verify you're human | verify you are not a robot | verify that you are not a robot | \
    confirm you are human | confirm that you are human | confirm you are not a robot | \
    prove you are human | prove you are not a robot | are you a robot | are you human | \
    i'm not a robot | i am not a robot | human verification | checking your browser | \
    just a moment | complete the security check | complete the captcha | solve the captcha | \
    enable javascript and cookies to continue | unusual traffic from your | attention required | \
    security check | press & hold | pardon our interruption | dass sie ein mensch sind | \
    sind sie ein mensch | kein roboter | sicherheitsüberprüfung | ihr browser wird überprüft | \
    einen moment | que vous êtes humain | êtes-vous un robot | vous n'êtes pas un robot | \
    je ne suis pas un robot | vérification de sécurité | vérification de votre navigateur | \
    que eres humano | que es humano | no soy un robot | no eres un robot | \
    comprobando su navegador | verificación de seguridad | un momento | di essere umano | \
    non sono un robot | verifica di sicurezza | se você é humano | que você é humano | \
    não sou um robô | verificação de segurança | dat u een mens bent | dat je een mens bent | \
    geen robot | nie jestem robotem | że jesteś człowiekiem | я не робот | что вы не робот | \
    что вы человек | проверка браузера | ロボットではありません | ロボットではない | 人間であることを確認 | 验证您是真人 | 确认您是真人 | \
    安全验证 | 人机验证 | 不是机器人";

/// Marks of challenges in the addresses of scripts and frames, in scripts and in the names of
/// elements.
const TEST_MARKS: &str = "/cdn-cgi/challenge-platform/ | _cf_chl_opt | challenges.cloudflare.com | cf-turnstile | \
    captcha-delivery.com | px-captcha | _pxappid | _incapsula_resource | hcaptcha | h-captcha | \
    recaptcha | geetest | arkoselabs.com | funcaptcha | awswaf | /_sec/cp_challenge | \
    perfdrive.com | sgcaptcha | captcha";

/// Beginnings of headlines of access denials.
const DENIED: &str = "access denied | access to this page has been denied | access to this page is denied | \
    access blocked | 403 forbidden | 403 - forbidden | error 403 | forbidden | \
    you have been blocked | sorry, you have been blocked | request blocked | request rejected | \
    the request could not be satisfied | zugriff verweigert | zugriff gesperrt | accès refusé | \
    accès interdit | acceso denegado | acceso prohibido | accesso negato | acesso negado | \
    toegang geweigerd | odmowa dostępu | dostęp zabroniony | доступ запрещен | доступ запрещён | \
    アクセスが拒否されました | 访问被拒绝 | 拒绝访问";

/// Other phrases of access denials: who was refused, and a reference number.
const DENIED_MARKS: &str = "reference # | reference id | ray id | incident id | support id | request id | \
    reference number | event id | your ip | ip address | ihre ip | ip-adresse | adresse ip | \
    su ip | indirizzo ip | endereço ip | ip-adres | adres ip | ваш ip | don't have permission | \
    do not have permission | has been blocked | was blocked | you are unable to access | \
    keine berechtigung | n'avez pas la permission | no tiene permiso | non hai il permesso";

/// Beginnings of headlines of consent questions.
const CONSENT: &str = "before you continue | we value your privacy | your privacy matters | \
    we care about your privacy | bevor sie fortfahren | bevor sie weitermachen | \
    bevor du fortfährst | ihre privatsphäre | deine privatsphäre | wir brauchen ihre zustimmung | \
    avant de continuer | avant d'accéder | votre vie privée | nous respectons votre vie privée | \
    antes de continuar | tu privacidad | su privacidad | valoramos tu privacidad | \
    prima di continuare | la tua privacy | rispettiamo la tua privacy | antes de prosseguir | \
    a sua privacidade | voordat je verdergaat | voordat u verdergaat | jouw privacy | uw privacy | \
    zanim przejdziesz | szanujemy twoją prywatność | прежде чем продолжить | 続行する前に | 继续之前";

/// Labels of the button that gives consent.
const ACCEPT: &str = "accept | agree | allow all | akzeptieren | zustimmen | einverstanden | accepter | j'accepte | \
    aceptar | acepto | accetta | accetto | aceitar | aceito | accepteren | akkoord | akceptuj | \
    zgadzam | zaakceptuj | принять | согласен | 同意 | 接受";

/// What consent is asked for.
const SUBJECT: &str = "cookie | cookies | クッキー | 数据 | データ";

/// Texts with more bytes than this are not examined: a character has four bytes at most.
const MAX_BYTES: usize = 4 * MAX_CONSENT;

/// The kind of refusal, if the page is one.
pub(super) fn refusal(
    html: &str,
    outline: &Outline<'_>,
    headlines: [Option<&str>; 2],
    visible: &str,
    links: usize,
) -> Option<Refusal> {
    if visible.len() > MAX_BYTES {
        return None;
    }
    let length = visible.chars().count();
    let headlines = headlines.map(|text| plain(text.unwrap_or_default()));
    let text = plain(visible);
    let says = |list: &str| phrases(list).any(|phrase| text.contains(phrase));
    let begins = |list: &str| {
        let begins = |text: &String| phrases(list).any(|phrase| text.starts_with(phrase));
        headlines.iter().any(begins)
    };
    let is_titled_test = headlines
        .iter()
        .any(|headline| phrases(TEST).any(|phrase| headline.contains(phrase)));
    if length <= MAX_TEST && links <= MAX_TEST_LINKS && (is_titled_test || says(TEST)) {
        let is_bare = length <= MAX_UNMARKED_TEST && links <= MAX_UNMARKED_LINKS;
        if has_own_form(outline) {
            return None;
        }
        let scripts = scripts(html);
        if has_marks(&scripts, outline)
            || is_titled_test && is_bare && is_operated(&scripts, outline)
        {
            return Some(Refusal::Challenge);
        }
    }
    if length <= MAX_TEST && links <= MAX_DENIED_LINKS && begins(DENIED) {
        let is_bare = length <= MAX_BARE && links == 0;
        if is_bare || says(DENIED_MARKS) {
            return Some(Refusal::Denied);
        }
    }
    let asks = length <= MAX_CONSENT && links <= MAX_CONSENT_LINKS && begins(CONSENT);
    (asks && says(SUBJECT) && can_accept(outline)).then_some(Refusal::Consent)
}

/// The phrases of a list, which are separated by bars.
fn phrases(list: &str) -> impl Iterator<Item = &str> {
    list.split('|').map(str::trim)
}

/// The text in lower case, with one kind of apostrophe and of space.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '’' | 'ʼ' => plain.push('\''),
            c if c.is_whitespace() => {
                if !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c => plain.push(c),
        }
    }
    plain.trim_start().to_owned()
}

/// The beginnings of the page's scripts in lower case, including their tags: where they come from
/// and what they contain.
fn scripts(html: &str) -> Vec<String> {
    let searched = &html[..floor_char_boundary(html, MAX_SEARCHED)];
    let searched = searched.to_ascii_lowercase();
    let scripts = searched.split("<script").skip(1);
    scripts
        .map(|script| {
            let script = script.split("</script").next().unwrap_or_default();
            script[..floor_char_boundary(script, MAX_SCRIPT)].to_owned()
        })
        .collect()
}

/// Whether a script, a frame, a form or the name of an element belongs to a challenge.
fn has_marks(scripts: &[String], outline: &Outline<'_>) -> bool {
    let is_marked = |text: &str| phrases(TEST_MARKS).any(|mark| text.contains(mark));
    let has = |text: &str| is_marked(&text.to_ascii_lowercase());
    let names = [
        local_name!("id"),
        local_name!("class"),
        local_name!("src"),
        local_name!("action"),
        local_name!("name"),
    ];
    scripts.iter().any(|script| is_marked(script))
        || outline.elements.iter().any(|item| {
            // Links to and pictures of CAPTCHAs belong to pages about them.
            !matches!(
                item.tag,
                Tag::A | Tag::Img | Tag::Html | Tag::Body | Tag::Meta | Tag::Link
            ) && item.tag.heading() == 0
                && names
                    .iter()
                    .filter_map(|name| attribute(item.element, name))
                    .any(has)
        })
}

/// Whether the page contains something that acts: a form or a script.
fn is_operated(scripts: &[String], outline: &Outline<'_>) -> bool {
    !scripts.is_empty() || outline.elements.iter().any(|item| item.tag == Tag::Form)
}

/// Whether there is a form for more than the answer to a challenge, such as one for messages or for
/// signing in.
fn has_own_form(outline: &Outline<'_>) -> bool {
    let is_answer = |element| {
        let name = attribute(element, &local_name!("name")).unwrap_or_default();
        let name = name.to_ascii_lowercase();
        name.contains("captcha") || name.contains("response")
    };
    let fields = outline.elements.iter().filter(|item| {
        let kind = attribute(item.element, &local_name!("type")).unwrap_or("text");
        let kinds = ["text", "email", "password", "search", "tel", "url"];
        let is_field = match item.tag {
            Tag::Textarea => true,
            Tag::Input => kinds.iter().any(|it| kind.eq_ignore_ascii_case(it)),
            _ => false,
        };
        is_field && !is_answer(item.element)
    });
    fields.count() > 1
}

/// Whether there is a button that gives consent.
fn can_accept(outline: &Outline<'_>) -> bool {
    let accepts = |text: &str| {
        let text = plain(text);
        phrases(ACCEPT).any(|word| text.contains(word))
    };
    outline.elements.iter().enumerate().any(|(index, item)| {
        let value = || attribute(item.element, &local_name!("value")).unwrap_or_default();
        let role = || attribute(item.element, &local_name!("role")).unwrap_or_default();
        match item.tag {
            Tag::Button => accepts(&outline.inner_text(index, 100)),
            Tag::Input => accepts(value()),
            Tag::A | Tag::Div | Tag::Span if role().eq_ignore_ascii_case("button") => {
                accepts(&outline.inner_text(index, 100))
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Page, PageOptions};
    use crate::url::{Canonicalizer, Identity, Secret, Url};

    fn check(html: &str, expected: Option<Refusal>) {
        let identity = Identity::new(
            Canonicalizer::default(),
            Secret::from_bytes([0; Secret::LEN]),
        );
        let url = Url::parse("https://a.example/page").unwrap();
        let page = Page::parse_html(html, &url, &identity, &PageOptions::default());
        assert_eq!(page.refusal, expected, "{html}");
    }

    #[test]
    fn tests_for_machines_are_told() {
        let challenge = Some(Refusal::Challenge);
        check(
            "<title>Just a moment...</title><h1>a.example</h1><p>Checking if the site connection is \
             secure<noscript>Enable JavaScript and cookies to continue</noscript>\
             <script>window._cf_chl_opt={cvId:'3'};</script>",
            challenge,
        );
        check(
            "<title>a.example</title><p>Please enable JS and disable any ad blocker, and prove you are \
             human</p><script src='https://ct.captcha-delivery.com/c.js'></script>",
            challenge,
        );
        check(
            "<title>Sind Sie ein Mensch?</title><form action='/pruefung'><p>Bitte bestätigen Sie, \
             dass Sie ein Mensch sind.</p><input name='captcha'><button>Weiter</button></form>",
            challenge,
        );
        check(
            "<title>Êtes-vous un robot ?</title><p>Un instant.</p><script>go()</script>",
            challenge,
        );
        check(
            "<title>安全验证</title><p>请完成下方验证后继续访问</p><div id='geetest-box'></div>",
            challenge,
        );
    }

    #[test]
    fn refusals_are_told() {
        let denied = Some(Refusal::Denied);
        check(
            "<title>Access Denied</title><h1>Access Denied</h1><p>You don't have permission to access \
             \"/page\" on this server.</p><p>Reference #18.2d351</p>",
            denied,
        );
        check(
            "<title>403 Forbidden</title><center><h1>403 Forbidden</h1></center><hr>nginx",
            denied,
        );
        check(
            "<title>Zugriff verweigert</title><p>Ihre IP-Adresse 192.0.2.7 wurde gesperrt.</p>",
            denied,
        );
    }

    #[test]
    fn questions_for_consent_are_told() {
        let consent = Some(Refusal::Consent);
        check(
            "<title>Before you continue</title><h1>Before you continue to Example</h1><p>We use cookies \
             to deliver and maintain our services.</p><form action='/save'><button>Reject all</button>\
             <button>Accept all</button></form><a href='/privacy'>Privacy</a>",
            consent,
        );
        check(
            "<title>Ihre Privatsphäre ist uns wichtig</title><p>Wir verwenden Cookies.</p>\
             <div role='button'>Alle akzeptieren</div>",
            consent,
        );
    }

    fn words(count: usize) -> String {
        let words: Vec<String> = (0..count).map(|n| format!("word{n}")).collect();
        words.join(" ")
    }

    #[test]
    fn pages_about_them_are_pages() {
        check(
            &format!(
                "<title>CAPTCHA - Encyclopedia</title><h1>CAPTCHA</h1><p>A CAPTCHA asks you to prove you \
                 are human: \"I'm not a robot\". {} <a href='/turing'>Turing</a>",
                words(300)
            ),
            None,
        );
        // A short page with a picture of a CAPTCHA.
        check(
            "<title>CAPTCHA</title><h1>CAPTCHA</h1><p>A test such as \"Are you a robot?\", which asks \
             you to verify you are human.</p><img class='captcha' src='/captcha.png'>\
             <a href='/a'>A</a><a href='/b'>B</a>",
            None,
        );
        check(
            "<title>Are you a robot? A poem</title><h1>Are you a robot?</h1><p>Just a moment, said the \
             tin man.</p>",
            None,
        );
        check(
            &format!(
                "<title>Access denied: what to do about error 403</title><p>You don't have permission, it \
                 says, and your IP address. {}",
                words(300)
            ),
            None,
        );
        check(
            "<title>Access Denied (film)</title><p>A film of 1997. <a href='/cast'>Cast</a>",
            None,
        );
        check(
            &format!(
                "<title>Cookie consent in the law</title><p>Before you continue, sites ask. We use \
                 cookies. {}<button>Accept all</button>",
                words(400)
            ),
            None,
        );
    }

    #[test]
    fn pages_with_a_test_or_a_banner_in_them_are_pages() {
        check(
            "<title>Contact</title><h1>Write to us</h1><p>Security check: solve the captcha.</p><form>\
             <input name='name'><input type='email' name='mail'><textarea name='text'></textarea>\
             <div class='g-recaptcha'></div></form>\
             <script src='https://www.google.com/recaptcha/api.js'></script>",
            None,
        );
        check(
            "<title>A short story</title><h1>A short story</h1><p>It was night. We use cookies.</p>\
             <button>Accept all</button><button>Reject all</button>",
            None,
        );
        check("<title>a</title><p>b</p>", None);
    }
}
