//! Tests of Markdown: what of the form of a page is kept, and the bound of what is written.

use super::*;
use crate::page::content::blocks;
use crate::page::facts::Base;
use crate::page::html;
use crate::page::options::PageOptions;

/// Gives the outline, all blocks and the base of a page.
fn with<T>(html: &str, read: impl FnOnce(&Outline<'_>, &[TextBlock], &Base) -> T) -> T {
    let (tree, _) = html::parse(html, &PageOptions::default());
    let outline = Outline::of(&tree);
    let url = crate::url::parse("https://example.org/dir/page.html").unwrap();
    let base = Base::of(&outline, &url, encoding_rs::UTF_8);
    let (blocks, _) = blocks::of(&outline);
    read(&outline, &blocks, &base)
}

/// Checks the Markdown of a page all of whose blocks are content.
fn check_markdown(html: &str, expected: &str) {
    let written = with(html, |outline, blocks, base| {
        render(outline, blocks, Links::From(base), 10_000)
    });
    assert_eq!(written, expected, "{html}");
}

#[test]
fn what_is_written_stops_at_the_bound() {
    let links = "<a href=x>y</a> ".repeat(2_000);
    let rows = "<td><a href=x>y</a>".repeat(2_000);
    for content in [
        format!("<p>{links}</p>"),
        format!("<table><tr>{rows}</table>"),
        format!("<pre>{}</pre>", "y\n".repeat(10_000)),
        format!("<p>{}</p>", "<img src=x alt=y>".repeat(5_000)),
    ] {
        let html = format!("<base href='/{}/'>{content} end", "b".repeat(16_000));
        with(&html, |outline, blocks, base| {
            assert!(render(outline, blocks, Links::From(base), 5_000).len() <= 5_000);
            each(outline, blocks, Links::From(base), 5_000, |passage| {
                let mut writer = Writer::default();
                writer.passage(&passage);
                assert!(writer.text.len() <= 12_000, "{}", writer.text.len());
                true
            });
        });
    }
}

#[test]
fn markdown_keeps_the_form() {
    check_markdown(
        "<h1>One</h1><p>Two <a href=x>three </a>four <code>f()</code>.</p>",
        "# One\n\nTwo [three](https://example.org/dir/x) four `f()`.",
    );
    check_markdown(
        "<ul><li>a<ol><li>b<li>c</ol><li><p>d<p>e</ul><p>f",
        "- a\n  1. b\n  2. c\n- d\n\n  e\n\nf",
    );
    check_markdown("<blockquote><p>q<p>r</blockquote>", "> q\n\n> r");
    check_markdown(
        "<table><tr><th>a<th>b|<tr><td>1<td><b>2</b> 3</table>",
        "| a | b\\| |\n| --- | --- |\n| 1 | **2** 3 |",
    );
    check_markdown(
        "<table><tr><th><p>a</p><th><p>b</p><tr><td><p>1</p><p>2</p><td><p>3</p></table>",
        "| a | b |\n| --- | --- |\n| 1 2 | 3 |",
    );
    check_markdown(
        "<p># no [heading] *here*, snake_case, _this_",
        "\\# no \\[heading\\] \\*here\\*, snake_case, \\_this\\_",
    );
    check_markdown(
        "<dl><dt>a<dd>b<dt>c<dd><p>d<p>e</dl>",
        "a\n: b\n\nc\n: d\n\n  e",
    );
}

#[test]
fn marks_within_lines_are_kept() {
    check_markdown(
        "<p>a <strong>b <em>c </em></strong>d <del>e</del> x<sup>2</sup> <kbd>`k`</kbd>",
        "a **b *c*** d ~~e~~ x<sup>2</sup> `` `k` ``",
    );
    // What ends and begins at once is one.
    check_markdown(
        "<p><b>a</b><b>b</b><code>c</code><code>d</code>",
        "**ab**`cd`",
    );
    check_markdown(
        "<p><code>a <a href=/x>b</a></code> <a href=/y><b>c</b></a>",
        "`a` [`b`](https://example.org/x) [**c**](https://example.org/y)",
    );
}

#[test]
fn links_keep_their_fragments_and_invent_nothing() {
    let html = "<h2 id=s>S<a class=headerlink href='#s'>¶</a></h2><p><a href='../x.html#y'>x</a> \
                <a href='javascript:f()'>f</a> <a href='#s'>s</a> <a>n</a>";
    check_markdown(
        html,
        "## S\n\n[x](https://example.org/x.html#y) f [s](https://example.org/dir/page.html#s) n",
    );
    let written = with(html, |outline, blocks, _| {
        render(outline, blocks, Links::AsWritten, 10_000)
    });
    assert_eq!(written, "## S\n\n[x](../x.html#y) f [s](#s) n");
}

#[test]
fn code_is_kept_as_it_is_with_its_language() {
    check_markdown(
        "<pre>  x = 1\n\n\n  y  z</pre><p>z",
        "```\n  x = 1\n\n\n  y  z\n```\n\nz",
    );
    // Pygments, as Sphinx writes it.
    check_markdown(
        "<div class='highlight-python3 notranslate'><div class=highlight><pre><span></span>\
         <span class=kn>import</span> <span class=nn>json</span>\n\
         <span class=k>if</span> <span class=n>x</span><span class=p>:</span>\n    \
         <span class=n>y</span>\n</pre></div></div>",
        "```python3\nimport json\nif x:\n    y\n```",
    );
    // Rouge: numbers in a cell of their own.
    check_markdown(
        "<div class='language-rb highlighter-rouge'><table><tr><td class='rouge-gutter gl'><pre class=lineno>1\n2\n</pre>\
         <td class=rouge-code><pre><span class=k>def</span> <span class=nf>f</span>\n<span class=k>end</span>\n</pre></table></div>",
        "```rb\ndef f\nend\n```",
    );
    // highlight.js, and lines that are elements.
    check_markdown(
        "<pre><code class='hljs language-js'><span class=line>a();</span>\n<span class=line>  <b>b</b>();</span></code></pre>",
        "```js\na();\n  b();\n```",
    );
    check_markdown(
        "<pre><div class=line>a\n</div><div class=line>\n</div><div class=line>  b\n</div></pre>",
        "```\na\n\n  b\n```",
    );
    check_markdown("<pre>a<br>  b<br><br>c</pre>", "```\na\n  b\n\nc\n```");
    check_markdown("<pre>```\n</pre>", "````\n```\n````");
}

#[test]
fn images_formulas_and_footnotes_are_kept() {
    check_markdown(
        "<p>a <img src=i.png alt='an image'> b</p><figure><img src=j.png alt=j><figcaption>c</figcaption></figure>",
        "a ![an image](https://example.org/dir/i.png) b\n\n![j](https://example.org/dir/j.png)\n\nc",
    );
    check_markdown(
        "<p>so <math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow>\
         <annotation encoding='application/x-tex'>x^{2}</annotation></semantics></math>, \
         <math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math> \
         <script type='math/tex; mode=display'>y_1</script>",
        "so $x^{2}$, $(a+b)/2$ $$y_1$$",
    );
    check_markdown(
        "<p>word<sup><a href='#fn1' id=r1>1</a></sup> and<sup><a href='#away'>2</a></sup></p>\
         <ol><li id=fn1><p>Note. <a href='#r1'>↩</a></p></ol>",
        "word[^1] and[<sup>2</sup>](https://example.org/dir/page.html#away)\n\n1. [^1]: Note.",
    );
}
