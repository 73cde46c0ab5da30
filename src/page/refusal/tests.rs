//! Tests of refusals: the honest pages that are about them, and those that are ones.

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

/// The navigation of a site.
const NAV: &str = "<nav><a href=/a>Articles</a> <a href=/b>Contents</a> <a href=/c>Help</a></nav>";

#[test]
fn short_pages_about_forbidden_things_are_pages() {
    for page in [
        // A stub of a wiki, with and without links.
        "<title>Access Denied (album) - Wiki</title><h1>Access Denied (album)</h1><p>Access Denied is \
         an album of 1999. It was blocked from release for two years. <a href=/wiki/1999>1999</a>",
        "<title>Access Denied (album)</title><h1>Access Denied (album)</h1><p>An album of 1999.</p>",
        // Explanations of the status.
        "<title>403 Forbidden</title><h1>403 Forbidden</h1><p>The server understood the request and \
         will not answer it: you don't have permission, it says. See also <a href=/404>404</a> and \
         <a href=/401>401</a>.",
        "<title>403 Forbidden</title><h1>403 Forbidden</h1><p>The client has no right to see what it \
         asked for. Other than with 401, who it is does not matter.</p><p>Since HTTP/1.0.</p>",
        "<title>Error 403: what it means</title><h1>Error 403</h1><p>Your IP address was blocked, or \
         you don't have permission.</p>",
        "<title>403 Forbidden - HTTP reference</title><h1>403 Forbidden</h1><p>An example: your IP \
         address has been blocked, request ID missing.</p>",
        "<title>Forbidden | Dictionary</title><h1>forbidden</h1><p>adjective: not allowed. From Old \
         English <i>forbeodan</i>.</p>",
        "<title>Forbidden City</title><h1>Forbidden City</h1><p>A palace in Beijing.</p>",
        "<title>Forbidden Planet (1956)</title><p>A film.",
        // News.
        "<title>Access denied to reporters in the north</title><h1>Access denied to reporters in the \
         north</h1><p>Two were sent back at the border; their access has been blocked since May.</p>",
        "<title>Zugriff verweigert: Urteil aus Karlsruhe</title><h1>Zugriff verweigert: Urteil aus \
         Karlsruhe</h1><p>Die IP-Adresse eines Kunden bleibt geheim.</p>",
        "<title>Accès refusé</title><h1>Accès refusé</h1><p>Roman de 2004, paru en poche en 2006. Une \
         femme cherche la clé d'une maison.</p>",
        "<title>Доступ запрещён</title><h1>Доступ запрещён</h1><p>Повесть 1988 года о закрытом городе.</p>",
        // Poems and stories, with the scripts of their site.
        "<title>Just a moment</title><h1>Just a moment</h1><p>Just a moment, said the tin man,</p>\
         <p>the rain is in my knees.</p><p>I will walk when I can.</p><script src=/site.js></script>",
        "<title>Just a moment</title><h1>Just a moment</h1><p>A moment is a leaf that falls, and the \
         river takes it by the mill, where nobody counts the leaves or the hours of the water.</p>\
         <script src=/site.js></script>",
        "<title>Verify you are human</title><h1>Verify you are human</h1><p>“Verify you are human,” \
         said the door. She laughed, and then she did not.</p><script>menu()</script>",
        "<title>Verify you are human</title><h1>Verify you are human</h1><p>The door had asked her \
         every morning for eleven years to verify that she was human, and every morning she had said \
         so, until the day on which the door would not believe it.</p><script>menu()</script>",
        "<title>Un momento</title><h1>Un momento</h1><p>Canción de 1972, grabada en Lima.</p><script>m()</script>",
        // On a site whose protection adds a script to every page.
        "<title>Just a moment</title><h1>Just a moment</h1><p>A song of 1994.</p>\
         <script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>",
        "<title>Security check</title><h1>Security check</h1><p>How we look after bicycles: brakes, \
         lights, bell and tyres, in this order, twice a year.</p><p>Bring yours on Saturday; the first \
         check costs nothing, later ones the price of a coffee.</p><script>window._pxAppId='1'</script>",
        // Entries of glossaries.
        "<title>Captcha</title><h1>Captcha</h1><article class='captcha entry'><p>A test that asks you \
         to prove you are human.</p></article><script src=/site.js></script>",
        "<title>CAPTCHA</title><h1>CAPTCHA</h1><p id=captcha>Ein Test: Sind Sie ein Mensch?</p>\
         <p>Das Wort ist eine Abkürzung.</p><script src=/site.js></script>",
        // Songs and books, under a banner.
        "<title>Before you continue</title><h1>Before you continue</h1><p>A song by the Harbour Lights, \
         the second on their first record.</p><div>We use cookies. <button>Accept</button></div>",
        "<title>Before You Continue (song)</title><h1>Before You Continue</h1><p>A song of 1998.</p>\
         <p>We use cookies.</p><button>Accept all</button>",
        "<title>Avant de continuer</title><h1>Avant de continuer</h1><p>Nouvelle parue en 1931 dans une \
         revue de Lyon, rééditée trois fois.</p><p>Nous utilisons des cookies.</p><button>Accepter</button>",
        // A form that is protected.
        "<title>Newsletter</title><h1>Newsletter</h1><p>Security check: prove you are human.</p><form>\
         <input type=email name=mail><div class=cf-turnstile></div></form>",
    ] {
        check(page, None);
        // And within a site.
        check(&page.replacen("<h1>", &format!("{NAV}<h1>"), 1), None);
    }
}

#[test]
fn what_is_refused_is_told_by_more_than_its_headline() {
    let (challenge, denied) = (Some(Refusal::Challenge), Some(Refusal::Denied));
    let consent = Some(Refusal::Consent);
    for (page, expected) in [
        (
            "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1><p>You \
             are unable to access a.example</p><p>Cloudflare Ray ID: 84f1a2b3c4d5e6f7 • Your IP: \
             203.0.113.9 • <a href=https://www.cloudflare.com/>Cloudflare</a>",
            denied,
        ),
        (
            "<title>Access denied | a.example used Cloudflare to restrict access</title><h1>Error 1020</h1>\
             <p>Ray ID: 84f1a2b3c4d5e6f7</p>",
            denied,
        ),
        (
            "<title>403 Forbidden</title><h1>Forbidden</h1><p>You don't have permission to access this \
             resource.</p><hr><address>Apache/2.4 Server at a.example Port 80</address>",
            denied,
        ),
        (
            "<title>ERROR: The request could not be satisfied</title><h1>403 ERROR</h1><h2>The request \
             could not be satisfied.</h2><p>Request blocked.</p><p>Request ID: Yb3_x81kQzz0==</p>",
            denied,
        ),
        (
            "<title>Access denied</title><p>You are not authorized to view this page.</p>",
            denied,
        ),
        (
            "<title>Accès refusé</title><p>Votre adresse IP 2001:db8::17 a été bloquée.</p>",
            denied,
        ),
        (
            "<title>Pardon Our Interruption</title><h1>Pardon Our Interruption...</h1><p>As you were \
             browsing something about your browser made us think you were a bot.</p><p>You're a power \
             user moving through this website with super-human speed.</p>\
             <script src=/_Incapsula_Resource?SWJIYLWA=1></script>",
            challenge,
        ),
        (
            "<title>Just a moment...</title><p>Checking your browser before accessing.</p><script>go()</script>",
            challenge,
        ),
        (
            "<title>a.example</title><h1>One more step</h1><p>Please complete the security check to \
             access a.example</p><form><div class=g-recaptcha></div></form>",
            challenge,
        ),
        (
            "<title>Avant de continuer</title><h1>Avant de continuer vers Exemple</h1><p>Nous utilisons \
             des cookies et des données pour fournir nos services.</p><button>Tout accepter</button>\
             <a href=/confidentialite/privacy>Confidentialité</a><a href=/terms>Conditions</a>",
            consent,
        ),
    ] {
        check(page, expected);
    }
}
