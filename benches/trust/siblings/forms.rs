//! Siblings among references, forms and measurements.

use super::Builder;

/// Vector functions whose pages differ in a name, a type and an instruction.
pub(super) fn intrinsics(builder: &mut Builder) {
    let names = [
        "abd", "abs", "add", "cgt", "cle", "dup", "eor", "fma", "ld1", "max", "min", "mla", "mls",
        "mov", "mul", "neg", "orr", "padd", "qadd", "qsub", "rev", "shl", "shr", "sra", "st1",
        "sub", "tbl", "trn", "uzp", "zip",
    ];
    let types = [
        ("s8", "int8x8_t"),
        ("s16", "int16x4_t"),
        ("s32", "int32x2_t"),
        ("s64", "int64x1_t"),
        ("u8", "uint8x8_t"),
        ("u16", "uint16x4_t"),
        ("u32", "uint32x2_t"),
        ("u64", "uint64x1_t"),
        ("f32", "float32x2_t"),
        ("f64", "float64x1_t"),
        ("p8", "poly8x8_t"),
    ];
    let forms = ["", "q", "l"];
    // Each number is a name, a form and a type: 990 in all.
    for number in 0..builder.count(600).min(990) {
        let name = names[number / 33];
        let form = forms[number / 11 % 3];
        let (short, long) = types[number % 11];
        let own = format!("v{name}{form}_{short}");
        let main = format!(
            "<pre><code>pub fn {own}(a: {long}, b: {long}) -&gt; {long}</code></pre><p>Available on <strong>AArch64 and target feature <code>neon</code></strong> only.</p><p>Vector {name}. <a href=\"/instruction/{name}\">Documentation of the manufacturer</a></p>"
        );
        let title = format!("{own} in core::arch - Rust");
        builder.page(
            0,
            format!("/core/arch/fn.{own}.html"),
            &title,
            &format!("Function {own}"),
            main,
        );
    }
}

/// Forms of a registry: long texts that differ in a section and a name.
pub(super) fn legal(builder: &mut Builder) {
    let text = builder.random("law").paragraphs(420);
    for number in 0..builder.count(300) {
        let mut random = builder.random(&format!("form {number}"));
        let (who, section) = (random.phrase(2), random.between(1, 400));
        let main = format!(
            "<p>Form {} according to section {section} of the act, to be handed in to the office of {who}.</p>{text}<p>Fee: {} crowns</p>",
            1_000 + number,
            random.between(10, 90)
        );
        builder.page(
            0,
            format!("/forms/{}.html", 1_000 + number),
            "Forms of the registry",
            "Application",
            main,
        );
    }
}

/// Listings that differ in an operator or a constant.
pub(super) fn code(builder: &mut Builder) {
    let operators = [
        "+", "-", "*", "/", "%", "&amp;", "|", "^", "&lt;&lt;", "&gt;&gt;", "&lt;", "&gt;", "==",
        "!=",
    ];
    let body = builder.random("code").words(90).replace(' ', ";\n    ");
    for number in 0..builder.count(300) {
        let operator = operators[number % operators.len()];
        let constant = 3 + number / operators.len();
        let main = format!(
            "<pre><code>fn step(a: u64, b: u64) -&gt; u64 {{\n    {body};\n    a {operator} (b + {constant})\n}}</code></pre><p>A listing of the exercise. Run it and compare the output.</p>"
        );
        builder.page(0, format!("/listing/{number}"), "Listing", "Listing", main);
    }
}

/// Options of a program, whose pages differ in the name and the default.
pub(super) fn options(builder: &mut Builder) {
    for number in 0..builder.count(400) {
        let mut random = builder.random(&format!("option {number}"));
        let name = random.slug(2);
        let main = format!(
            "<p>Sets the value of <code>{name}</code>.</p><table><tr><th>Default</th><td>{}</td></tr><tr><th>Type</th><td>integer</td></tr><tr><th>Since</th><td>2.{}</td></tr><tr><th>Scope</th><td>global, session</td></tr></table><p>The server must be started again before a change has effect.</p>",
            random.below(100_000),
            random.below(12)
        );
        builder.page(
            0,
            format!("/reference/options/{name}.html"),
            &format!("Option {name}"),
            &name,
            main,
        );
    }
}

/// Stations whose pages are tables of numbers.
pub(super) fn stations(builder: &mut Builder) {
    for number in 0..builder.count(400) {
        let mut random = builder.random(&format!("station {number}"));
        let rows: String = (1..=24)
            .map(|hour| {
                format!(
                    "<tr><td>{hour}:00</td><td>{}.{}</td><td>{}</td></tr>",
                    random.between(2, 31),
                    random.below(10),
                    random.between(980, 1_030)
                )
            })
            .collect();
        let main = format!(
            "<p>Station {}</p><table><tr><th>Time</th><th>Temperature</th><th>Pressure</th></tr>{rows}</table>",
            10_000 + number * 7
        );
        builder.page(
            0,
            format!("/station/{}", 10_000 + number * 7),
            "Measurements",
            "Measurements of the last day",
            main,
        );
    }
}
