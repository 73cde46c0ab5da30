//! Keys that other archives give to the same URLs, and laws that hold for all.

use proptest::prelude::*;

use super::surt;

/// Made with the Python package `surt` 0.3.1; `tests/apart/tools.rs` compares many more, where that
/// is installed.
#[rustfmt::skip]
const KEYS: &[(&str, &str)] = &[
    ("http://example.org/", "org,example)/"),
    ("https://www.Example.org:443/a/B/?b=2&a=1&c", "org,example)/a/b?a=1&b=2&c"),
    ("http://example.org:80", "org,example)/"),
    ("http://example.org:8080/x/", "org,example:8080)/x"),
    ("https://example.org:80/x", "org,example:80)/x"),
    ("http://user:secret@example.org/x", "org,example)/x"),
    ("http://example.org:/x", "org,example)/x"),
    ("http://example.org:0/x", "org,example)/x"),
    ("http://example.org:99999/x", "http://example.org:99999/x"),
    ("http://example.org:abc/x", "http://example.org:abc/x"),
    ("http://example.org:0080/x", "org,example)/x"),
    ("http://www2.example.org/", "org,example)/"),
    ("http://www12x.example.org/", "org,example,www12x)/"),
    ("http://wwww.example.org/", "org,example,wwww)/"),
    ("http://www.www.example.org/", "org,example,www)/"),
    ("http://www.com/", "com)/"),
    ("http://sub.www.example.org/", "org,example,www,sub)/"),
    ("http://a.b.c.d.example.co.uk/p", "uk,co,example,d,c,b,a)/p"),
    ("http://example.org./x", "org,example)/x"),
    ("http://example..org/x", "org,example)/x"),
    ("http://example...org/x", "org,,example)/x"),
    ("http://.example.org/x", "org,example)/x"),
    ("http://192.0.2.7/x", "7,2,0,192)/x"),
    ("http://3221225991/x", "7,2,0,192)/x"),
    ("http://192.0.519/", "7,2,0,192)/"),
    ("http://192.519/x", "7,2,0,192)/x"),
    ("http://0300.0.02.07/x", "7,2,0,192)/x"),
    ("http://010.8.0.1/x", "1,0,8,010)/x"),
    ("http://0.0.0.0/", "0,0,0,0)/"),
    ("http://256.1.1.1/", "1,1,1,256)/"),
    ("http://1.2.3.4.5/", "5,4,3,2,1)/"),
    ("http://1.2.3.08/", "08,3,2,1)/"),
    ("http://4294967296/", "0,0,0,0)/"),
    ("http://99999999999999999999/", "255,255,15,99)/"),
    ("http://[2001:db8::1]/x", "2001:db8::1)/x"),
    ("http://[2001:DB8::1]:8080/x", "2001:db8::1:8080)/x"),
    ("http://[fe80::1%25eth0]/x", "fe80::1%25eth0)/x"),
    ("http://bücher.example/ä", "example,xn--bcher-kva)/%c3%a4"),
    ("http://BÜCHER.example/", "example,xn--bcher-kva)/"),
    ("http://straße.example/", "example,strasse)/"),
    ("http://xn--bcher-kva.example/", "example,xn--bcher-kva)/"),
    ("http://例え.テスト/パス?問い=答え", "xn--zckzah,xn--r8jz45g)/%e3%83%91%e3%82%b9?%e5%95%8f%e3%81%84=%e7%ad%94%e3%81%88"),
    ("http://b%C3%BCcher.example/", "example,xn--bcher-kva)/"),
    ("http://%77ww.example.org/", "org,example)/"),
    ("http://exa mple.org/", "org,exa%20mple)/"),
    ("http://exa_mple.org/", "org,exa_mple)/"),
    ("http://example.org/a%20b/%7Euser/%41%2f%252F", "org,example)/a%20b/~user/a"),
    ("http://example.org/%", "org,example)/%25"),
    ("http://example.org/%zz/%4", "org,example)/%25zz/%254"),
    ("http://example.org/%25%32%35", "org,example)/%25"),
    ("http://example.org/a//b///c", "org,example)/a/b/c"),
    ("http://example.org/a/./b/../c/", "org,example)/a/c"),
    ("http://example.org/../../x", "org,example)/x"),
    ("http://example.org/a/..", "org,example)/"),
    ("http://example.org/a/.", "org,example)/a"),
    ("http://example.org//", "org,example)/"),
    ("http://example.org/a/#fragment", "org,example)/a"),
    ("http://example.org/a?#fragment", "org,example)/a"),
    ("http://example.org/a?", "org,example)/a"),
    ("http://example.org?x=1", "org,example)/?x=1"),
    ("http://example.org#f", "org,example)/"),
    ("http://example.org/?&", "org,example)/?&"),
    ("http://example.org/?&&b&a&", "org,example)/?&&&a&b"),
    ("http://example.org/?a=b=c&a=a&a", "org,example)/?a&a=a&a=b=c"),
    ("http://example.org/?a", "org,example)/?a"),
    ("http://example.org/?A=B&a=a", "org,example)/?a=a&a=b"),
    ("http://example.org/?q=%E4%BD%A0&p=%26%3D", "org,example)/?=&p=&q=%e4%bd%a0"),
    ("http://example.org/?q=a+b%20c", "org,example)/?q=a+b%20c"),
    ("http://example.org/?x=\\\"'<>|^`{}", "org,example)/?x=\\\"'<>|^`{}"),
    ("http://example.org/a?b?c", "org,example)/a?b?c"),
    ("http://example.org/a;jsessionid=0123456789abcdef0123456789ABCDEF", "org,example)/a;jsessionid=0123456789abcdef0123456789abcdef"),
    ("http://example.org/a?jsessionid=0123456789abcdef0123456789ABCDEF", "org,example)/a"),
    ("http://example.org/a?x=1&jsessionid=0123456789abcdef0123456789abcdef&y=2", "org,example)/a?x=1&y=2"),
    ("http://example.org/a?PHPSESSID=0123456789abcdef0123456789abcdef", "org,example)/a"),
    ("http://example.org/a?sid=0123456789abcdef0123456789abcdef&z", "org,example)/a?z"),
    ("http://example.org/a?ASPSESSIONIDABCDEFGH=abcdefghijklmnopqrstuvwx&z=1", "org,example)/a?z=1"),
    ("http://example.org/a?cfid=1&cftoken=2&z=1", "org,example)/a?z=1"),
    ("http://example.org/a?z=1&cfid=1&cftoken=2", "org,example)/a?&z=1"),
    ("http://example.org/(S(abcdefghij0123456789abcd))/x/page.aspx?q=1", "org,example)/x/page.aspx?q=1"),
    ("http://example.org/(abcdefghij0123456789abcd)/page.ASPX", "org,example)/page.aspx"),
    ("http://example.org/(S(abcdefghij0123456789abcd))/page.html", "org,example)/(s(abcdefghij0123456789abcd))/page.html"),
    ("http://http://example.org/x", "org,example)/x"),
    ("http://https://https://example.org/x", "org,example)/x"),
    ("http:////example.org/x", "org,example)/x"),
    ("http:example.org/x", "org,example)/x"),
    ("http:/example.org/x", "org,example)/x"),
    ("http:///", "http:/"),
    ("http://", "http:"),
    ("https", "https)/"),
    ("example.org/x", "org,example)/x"),
    ("example.org:8080/x", "example.org:8080/x"),
    ("//example.org/x", "org,example)/x"),
    ("HTTP://EXAMPLE.ORG/X", "org,example)/x"),
    ("ftp://www.example.org:21/x", "org,example:21)/x"),
    ("ws://example.org:80/x", "org,example:80)/x"),
    ("dns:www.example.org", "dns:www.example.org"),
    ("dns://www.example.org/x", "org,example,www)/x"),
    ("urn:uuid:00000000-0000-0000-0000-00000000000A", "urn:uuid:00000000-0000-0000-0000-00000000000a"),
    ("mailto:A.Name@Example.org?Subject=X", "mailto:a.name@example.org?subject=x"),
    ("data:text/plain,A%20b", "data:text/plain,a%20b"),
    ("screenshot:http://www.Example.org/A/../b/", "screenshot:http://www.example.org/a/../b"),
    ("urn:view:https://example.org/x/?b&a", "urn:view:https://example.org/x?a&b"),
    ("whois://whois.example.org/x", "org,example,whois)/x"),
    ("filedesc://x.arc", "filedesc://x.arc"),
    ("   http://example.org/x   ", "org,example)/x"),
    ("http://example.org/a\tb\nc", "org,example)/abc"),
    ("http://user@/x", "x)/"),
    ("http://@example.org/x", "org,example)/x"),
    ("http://a@b@example.org/x", "org,example)/x"),
    ("http://example.org:80:90/", "http://example.org:80:90/"),
    ("http://-example.org/", "org,-example)/"),
    ("http://example.org/ä/é?ü=ß", "org,example)/%c3%a4/%c3%a9?%c3%bc=%c3%9f"),
    ("http://example.org/\u{7f}\u{1}", "org,example)/%7f%01"),
    ("http://example.org/a%00b", "org,example)/a%00b"),
    ("http://example.org/%23%3F%26", "org,example)/%23?&"),
    ("http://example.org/?%23%3F%26=%3d", "org,example)/?==&%23?"),
    ("http://example.org/~user/$&+,:;=@!'()*", "org,example)/~user/$&+,:;=@!'()*"),
    ("", "-"),
];

#[test]
fn keys_are_those_of_other_archives() {
    for (url, expected) in KEYS {
        assert_eq!(surt(url), *expected, "{url:?}");
    }
}

proptest! {
    /// A key is one word in ASCII, and says nothing of scheme, `www`, case, order of a query or
    /// fragment.
    #[test]
    fn keys_ignore_what_they_should(
        host in "[a-z]{1,8}(\\.[a-z0-9]{1,8}){1,3}\\.[a-z]{2,3}",
        path in "(/[a-zA-Z0-9._~%é]{0,8}){0,4}",
        mut fields in prop::collection::vec("[a-z]{1,4}(=[a-zA-Z0-9%+é]{0,6})?", 0..4),
    ) {
        let of = |scheme: &str, www: &str, fields: &[String], end: &str| {
            let mark = if fields.is_empty() { "" } else { "?" };
            surt(&format!("{scheme}://{www}{host}{path}{mark}{}{end}", fields.join("&")))
        };
        let key = of("http", "", &fields, "");
        prop_assert!(key.bytes().all(|byte| byte.is_ascii_graphic()), "{key}");
        fields.reverse();
        prop_assert_eq!(&key, &of("https", "www.", &fields, "#there"));
        let raised: Vec<String> = fields.iter().map(|it| it.to_ascii_uppercase()).collect();
        prop_assert_eq!(&key, &of("HTTPS", "WWW3.", &raised, ""));
    }

    #[test]
    fn any_text_has_a_key(text in ".{0,64}", bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        surt(&text);
        surt(&format!("http://{text}"));
        surt(&format!("http://a/{}", String::from_utf8_lossy(&bytes)));
    }
}
