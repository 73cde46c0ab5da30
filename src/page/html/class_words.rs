//! Words of classes, ids, roles and item properties, and what they say of an element. A table: it
//! was made by `benches/train_extraction.py`, which says how; do not edit it by hand.
//!
//! A weight is 64 times the change in the log odds that a block below is content. Every word stands
//! on pages of at least four sites.

/// What is known of `word` in lower case: bits of `traits::bit`, and its weight.
pub(super) fn look_up(word: &str) -> Option<(u32, i16)> {
    let mut slot = hash(word.as_bytes()) % SLOTS.len();
    // The table is sparse, so this soon ends at an empty slot.
    while let Some(index) = SLOTS.get(slot).copied().filter(|index| *index > 0) {
        let (known, bits, weight) = WORDS.get(usize::from(index) - 1)?;
        if *known == word {
            return Some((u32::from(*bits), *weight));
        }
        slot = (slot + 1) % SLOTS.len();
    }
    None
}

const fn hash(word: &[u8]) -> usize {
    let mut hash: u32 = 0x811C_9DC5;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ hash >> 15) as usize
}

/// For every hash the number of a word, starting at one; 0 is empty.
static SLOTS: [u16; 4096] = {
    let mut slots = [0; 4096];
    let mut at = 0;
    while at < WORDS.len() {
        let mut slot = hash(WORDS[at].0.as_bytes()) % slots.len();
        while slots[slot] > 0 {
            slot = (slot + 1) % slots.len();
        }
        at += 1;
        slots[slot] = at as u16;
    }
    slots
};

/// Word, bits, weight; sorted.
#[rustfmt::skip]
static WORDS: [(&str, u8, i16); 891] = [
    ("aawp", 0, 8), ("about", 0, -4), ("above", 0, 6), ("abstract", 0, 14), ("acc", 0, -7), ("accent", 0, -10),
    ("accept", 0, 7), ("access", 0, -8), ("accessibility", 0, 5), ("act", 0, 4), ("action", 0, -12),
    ("actions", 0, -13), ("active", 0, 7), ("add", 0, -7), ("addons", 0, 17), ("admonition", 0, 5),
    ("advertising", 0, -9), ("aff", 0, -11), ("after", 0, -15), ("alert", 0, -14), ("align", 0, -10),
    ("aligned", 0, 30), ("alignfull", 0, 7), ("alignment", 0, 15), ("already", 0, -4), ("alt", 0, -4),
    ("alternate", 0, 7), ("alternating", 0, -12), ("always", 0, -4), ("analysis", 0, -7), ("and", 0, 15),
    ("android", 0, -13), ("anim", 0, 6), ("animate", 0, -13), ("animation", 0, 12), ("animations", 0, -7),
    ("announcement", 0, -5), ("announcements", 0, -4), ("anon", 0, 10), ("app", 0, -5), ("application", 0, -9),
    ("applied", 0, -6), ("archive", 0, 8), ("area", 0, -7), ("areas", 0, -18), ("arrow", 0, 4), ("arrows", 0, 10),
    ("art", 0, 7), ("article", 0, 9), ("articles", 0, 9), ("aside", 0, -18), ("asl", 0, -7), ("aspect", 0, 4),
    ("assets", 0, 11), ("ast", 0, -8), ("attribute", 0, 4), ("attribution", 0, -11), ("audience", 0, 4),
    ("audio", 0, -4), ("author", 0, -31), ("auto", 0, 7), ("autoplay", 0, 6), ("available", 0, 7),
    ("avatar", 0, -4), ("back", 0, -9), ("backlink", 0, -4), ("badge", 0, -4), ("banner", 0, -24), ("bar", 0, -13),
    ("basis", 0, 7), ("bdf", 0, 7), ("beauty", 0, 7), ("before", 0, -9), ("beginners", 0, 10), ("behavior", 0, 4),
    ("below", 0, -6), ("benefits", 0, -11), ("between", 0, -24), ("billboard", 0, -5), ("bio", 0, -18),
    ("black", 0, 8), ("blank", 0, 12), ("bleed", 0, 4), ("block", 0, -11), ("blockquote", 0, 6), ("blocks", 0, 6),
    ("blog", 0, 4), ("blurb", 0, 4), ("board", 0, -4), ("boc", 0, -8), ("body", 0, 13), ("bodytext", 0, 9),
    ("bodywrapper", 0, 19), ("book", 0, -10), ("bootstrap", 0, -6), ("borders", 0, 11), ("bottom", 0, -17),
    ("box", 0, 6), ("boxes", 0, 7), ("brand", 0, 7), ("breadcrumb", 0, -21), ("breadcrumbs", 0, -10),
    ("breaker", 0, -4), ("breaking", 0, -23), ("browse", 0, 5), ("browser", 0, -15), ("btn", 0, -41),
    ("builder", 0, -10), ("building", 0, 4), ("bullet", 0, -5), ("bullets", 0, 9), ("business", 0, 15),
    ("button", 0, -19), ("buttons", 0, -9), ("byline", 0, -23), ("canvas", 0, 6), ("caption", 4, -31),
    ("card", 8, -19), ("cards", 8, 0), ("carousel", 0, -11), ("cart", 0, -11), ("categories", 0, -14),
    ("category", 0, 11), ("catlinks", 0, -5), ("cats", 0, 17), ("cell", 8, -26), ("center", 0, 16),
    ("centered", 0, 8), ("channel", 0, -6), ("checkbox", 0, -7), ("cite", 0, -7), ("clamp", 0, 4),
    ("classic", 0, -7), ("clear", 0, -10), ("clearfix", 0, 5), ("close", 0, -10), ("closed", 0, -13), ("cmp", 0, 8),
    ("cms", 0, 16), ("code", 0, -18), ("col", 8, -6), ("collage", 0, 9), ("collapse", 0, -6),
    ("collapsible", 0, -6), ("collection", 0, 9), ("college", 0, 4), ("colophon", 1, 0), ("color", 0, -4),
    ("cols", 0, -4), ("column", 8, 9), ("columns", 0, 20), ("comment", 2, -33), ("commentlist", 2, -18),
    ("comments", 2, 0), ("commercial", 0, 5), ("common", 0, -6), ("comp", 0, 4), ("compact", 0, -8),
    ("compare", 0, 5), ("comparison", 0, 9), ("complementary", 0, -20), ("complete", 0, -8), ("component", 0, -17),
    ("components", 0, 5), ("composer", 0, -7), ("con", 0, 7), ("conferences", 0, -10), ("consent", 0, -5),
    ("constrained", 0, 6), ("cont", 0, -18), ("contact", 0, -17), ("contained", 0, 5), ("container", 0, -6),
    ("containers", 0, 12), ("content", 0, 21), ("contentinfo", 1, -7), ("control", 0, -8), ("controls", 0, -8),
    ("cookie", 0, -15), ("cookies", 0, -4), ("copyright", 1, -11), ("core", 0, 7), ("corner", 0, 7),
    ("corners", 0, 4), ("cos", 0, 22), ("count", 0, -11), ("country", 0, -9), ("course", 0, 5), ("cover", 0, 6),
    ("crawler", 0, 10), ("create", 0, 11), ("credit", 4, 0), ("credits", 4, 0), ("crop", 0, 7), ("crumb", 0, -5),
    ("crumbs", 0, -8), ("css", 0, 8), ("cta", 0, -20), ("ctools", 0, 7), ("custom", 0, 7), ("customer", 0, -6),
    ("customizer", 0, -5), ("dark", 0, 8), ("data", 0, -9), ("date", 0, -19), ("default", 0, 10),
    ("delimiter", 0, -10), ("demo", 0, -7), ("department", 0, 7), ("descriptor", 0, 8), ("design", 0, 16),
    ("designer", 0, 4), ("desk", 0, -4), ("detail", 0, 5), ("detailed", 0, 12), ("details", 0, 17),
    ("development", 0, 9), ("device", 0, 8), ("dialog", 0, -35), ("die", 0, -4), ("direction", 0, 6),
    ("disclaimer", 0, -8), ("disclaimers", 0, -4), ("displayed", 0, 5), ("disqus", 2, 0), ("divi", 0, 28),
    ("doc", 0, 13), ("docs", 0, 16), ("document", 0, 11), ("documentwrapper", 0, 19), ("dot", 0, 5),
    ("download", 0, -5), ("drawer", 0, -12), ("drop", 0, -16), ("dropdown", 0, -11), ("dual", 0, 8), ("dyn", 0, 9),
    ("dynamic", 0, 14), ("ead", 0, -4), ("editable", 0, -8), ("editor", 0, -11), ("eight", 0, 5),
    ("element", 0, -13), ("elementor", 0, 5), ("elements", 0, 5), ("ellipsis", 0, -4), ("email", 0, -10),
    ("embed", 0, -11), ("enable", 0, 4), ("enabled", 0, 12), ("end", 0, -14), ("entity", 0, 4), ("entries", 8, 0),
    ("entry", 0, 23), ("equal", 0, 4), ("errors", 0, -6), ("even", 0, -4), ("event", 0, 33), ("events", 0, -14),
    ("excerpts", 0, 4), ("expand", 0, -22), ("expandable", 0, -6), ("experience", 0, 7), ("external", 0, -6),
    ("extra", 0, -8), ("extras", 0, -9), ("facebook", 0, -6), ("facts", 0, -5), ("fade", 0, 16), ("family", 0, -4),
    ("faq", 0, 8), ("faqs", 0, -10), ("faux", 0, -4), ("fbf", 0, 10), ("feature", 0, 11), ("feed", 0, 6),
    ("feedback", 0, -6), ("field", 0, 10), ("figcaption", 0, -5), ("figure", 4, -11), ("file", 0, -10),
    ("filter", 0, -16), ("filters", 0, -10), ("find", 0, 6), ("first", 0, 6), ("fit", 0, 5), ("fixed", 0, -11),
    ("flat", 0, -12), ("flex", 0, -6), ("flexible", 0, -9), ("float", 0, -12), ("fluid", 0, -7),
    ("focusable", 0, -8), ("follow", 0, -5), ("fonts", 0, -10), ("foot", 1, -13), ("footer", 1, -77),
    ("footnote", 0, -10), ("footnotes", 0, -5), ("for", 0, -8), ("foreground", 0, -5), ("form", 0, -22),
    ("format", 0, -31), ("formatted", 0, -7), ("forms", 0, 9), ("forums", 0, -4), ("four", 0, -15),
    ("fragment", 0, -5), ("frame", 0, -9), ("fullwidth", 0, 11), ("fusion", 0, 13), ("gallery", 4, 0),
    ("game", 0, -7), ("games", 0, -5), ("gamma", 0, -5), ("gap", 0, 20), ("gdpr", 0, -8), ("gear", 0, 13),
    ("general", 0, -15), ("generatepress", 0, 8), ("generic", 0, 17), ("geo", 0, -8), ("ghost", 0, -6),
    ("gifts", 0, -5), ("global", 0, 10), ("glyphicons", 0, 11), ("government", 0, -4), ("gpu", 0, -7),
    ("gray", 0, -13), ("grid", 8, 0), ("group", 0, -9), ("grow", 0, -7), ("guide", 0, 14), ("guides", 0, 4),
    ("gutter", 0, 17), ("gutters", 0, 7), ("half", 0, -5), ("hamburger", 0, -4), ("hash", 0, -4), ("hdr", 0, -4),
    ("head", 0, -10), ("header", 0, -29), ("headers", 0, 7), ("heading", 0, -7), ("headline", 0, -28),
    ("health", 0, -4), ("height", 0, -7), ("hello", 0, -5), ("help", 0, -5), ("helper", 0, 13), ("hentry", 0, 13),
    ("hidden", 0, -20), ("hide", 0, -9), ("highlander", 0, -13), ("holder", 0, -4), ("home", 0, -6),
    ("homepage", 0, 6), ("horizontal", 0, 6), ("hot", 0, -5), ("hours", 0, -5), ("hover", 0, -20),
    ("hoverable", 0, 9), ("html", 0, 15), ("hub", 0, -6), ("huge", 0, 4), ("hyperlink", 0, -5), ("icon", 0, -5),
    ("icons", 0, -6), ("identity", 0, 18), ("ignore", 0, -5), ("image", 4, 0), ("images", 0, 11), ("img", 0, 5),
    ("include", 0, 4), ("index", 0, 36), ("infinite", 0, 6), ("info", 0, -10), ("infobar", 0, -8),
    ("infobox", 0, -4), ("init", 0, 11), ("inline", 0, -20), ("inner", 0, 4), ("inset", 0, -7), ("inside", 0, 17),
    ("instock", 0, -10), ("insurance", 0, 8), ("international", 0, -5), ("ios", 0, 4), ("issues", 0, -5),
    ("item", 8, -7), ("items", 8, -12), ("javascript", 0, 10), ("job", 0, -11), ("jobs", 0, -8),
    ("justified", 0, -8), ("justify", 0, -8), ("key", 0, -10), ("kit", 0, -7), ("know", 0, -5), ("lab", 0, -5),
    ("label", 0, -25), ("landscape", 0, -15), ("lang", 0, 4), ("language", 0, -12), ("large", 0, -17),
    ("law", 0, 4), ("lay", 0, 5), ("lazyload", 0, -9), ("lbl", 0, 4), ("lead", 0, -8), ("leading", 0, -11),
    ("left", 0, -6), ("legacy", 0, 4), ("legal", 1, -21), ("letter", 0, 12), ("level", 0, -4), ("life", 0, 6),
    ("light", 0, -7), ("lightbox", 0, 5), ("lighter", 0, -14), ("likes", 0, -5), ("limit", 0, -5), ("line", 0, -11),
    ("link", 0, -21), ("linklist", 0, -17), ("links", 0, -18), ("linux", 0, -4), ("list", 8, -13),
    ("listing", 8, 5), ("listitem", 0, -10), ("living", 0, 5), ("load", 0, -9), ("loaded", 0, -5),
    ("location", 0, -14), ("logging", 0, 8), ("login", 0, -8), ("logo", 0, 6), ("long", 0, -10), ("lower", 0, -6),
    ("lst", 0, -5), ("magazine", 0, 12), ("main", 0, 12), ("maincontent", 0, 8), ("mainmenu", 0, -7),
    ("mainnavigation", 0, -6), ("making", 0, -4), ("manual", 0, -6), ("map", 0, -8), ("margin", 0, 6),
    ("margins", 0, -4), ("markdown", 0, 13), ("marker", 0, 12), ("marketing", 0, -7), ("masonry", 0, -13),
    ("masthead", 0, -11), ("match", 0, 5), ("max", 0, 4), ("media", 4, -20), ("mega", 0, 10), ("megamenu", 0, -15),
    ("members", 0, -5), ("menu", 0, -14), ("menuitem", 0, -8), ("message", 0, 7), ("messages", 0, -12),
    ("meta", 0, -21), ("metadata", 0, -7), ("mid", 0, -4), ("min", 0, 15), ("mini", 0, -9), ("minmax", 0, 9),
    ("minor", 0, -9), ("mob", 0, 17), ("mobile", 0, 4), ("modal", 0, -35), ("mode", 0, -17), ("model", 0, -4),
    ("module", 0, -7), ("more", 0, -8), ("most", 0, -14), ("motion", 0, 4), ("msg", 0, 9), ("multiple", 0, 6),
    ("muted", 0, -21), ("narrow", 0, 8), ("nav", 0, -30), ("navbar", 0, -19), ("navi", 0, -16),
    ("navigation", 0, -37), ("navy", 0, -5), ("needs", 0, 13), ("network", 0, -4), ("neutral", 0, 7),
    ("new", 0, -10), ("news", 0, -7), ("newsletter", 0, -15), ("next", 0, -5), ("nocontent", 0, -12),
    ("nojs", 0, -5), ("non", 0, 9), ("none", 0, -9), ("normal", 0, 6), ("not", 0, -18), ("notice", 0, -18),
    ("notices", 0, -6), ("notify", 0, -5), ("notouch", 0, -10), ("notranslate", 0, 5), ("now", 0, -5),
    ("nowrap", 0, -14), ("num", 0, 7), ("odd", 0, -7), ("offcanvas", 0, -14), ("offset", 0, 11), ("old", 0, -6),
    ("only", 0, -5), ("opacity", 0, -12), ("open", 0, 12), ("opentable", 0, 5), ("opinion", 0, 8),
    ("opposite", 0, -7), ("opt", 0, -12), ("optimization", 0, -4), ("option", 0, -6), ("options", 0, -12),
    ("order", 0, 18), ("other", 0, -15), ("outlet", 0, 12), ("outline", 0, 5), ("outside", 0, -8), ("over", 0, 8),
    ("overall", 0, -4), ("overflow", 0, 32), ("overlap", 0, 4), ("overlay", 0, -8), ("overview", 0, -6),
    ("owl", 0, -13), ("package", 0, 9), ("pad", 0, -6), ("padding", 0, 18), ("page", 0, 7), ("pageid", 0, 14),
    ("pages", 0, -14), ("pagination", 0, 7), ("pairs", 0, -16), ("pane", 0, 5), ("panel", 0, 5), ("panels", 0, 13),
    ("paragraph", 0, 9), ("parent", 0, 22), ("path", 0, 13), ("paywall", 0, -13), ("pdf", 0, -6), ("pdp", 0, 12),
    ("performance", 0, -7), ("phone", 0, 6), ("photo", 4, 4), ("php", 0, -13), ("phpbb", 0, -10), ("picture", 4, 0),
    ("placeholder", 0, -4), ("placement", 0, -8), ("plan", 0, 8), ("play", 0, -5), ("player", 0, -5),
    ("plp", 0, -11), ("plugin", 0, 4), ("plus", 0, -19), ("point", 0, 10), ("pointer", 0, -7), ("policy", 0, -6),
    ("pop", 0, -6), ("popmake", 0, -5), ("popover", 0, -6), ("popular", 0, -25), ("popup", 0, -30),
    ("portfolio", 0, -30), ("position", 0, 9), ("post", 0, 11), ("posted", 0, -5), ("poster", 0, -5),
    ("postid", 0, -23), ("postprofile", 0, -4), ("posts", 0, -28), ("practice", 0, 7), ("presentation", 0, -6),
    ("prev", 0, -8), ("preview", 0, -7), ("pricing", 0, -4), ("print", 0, -4), ("privacy", 0, -9),
    ("process", 0, 12), ("prod", 0, -4), ("product", 8, 0), ("products", 8, 21), ("profile", 0, 4),
    ("program", 0, 12), ("project", 0, -5), ("promo", 0, -28), ("promoted", 0, -5), ("promotion", 0, -4),
    ("prose", 0, 37), ("public", 0, 11), ("publish", 0, 6), ("pull", 0, 9), ("pum", 0, -12), ("purchase", 0, -4),
    ("push", 0, -5), ("python", 0, 4), ("quantity", 0, -9), ("query", 0, -7), ("question", 0, -18),
    ("questions", 0, -12), ("quick", 0, 12), ("quickedit", 0, 9), ("quote", 0, -4), ("radio", 0, -10),
    ("ranking", 0, 7), ("rating", 0, -5), ("ratio", 0, 7), ("raw", 0, -4), ("react", 0, -16), ("reactions", 0, -4),
    ("read", 0, -8), ("reader", 0, -12), ("reading", 0, 17), ("ready", 0, -4), ("recent", 0, -15),
    ("recipe", 0, 14), ("recirc", 0, -7), ("recommended", 0, -7), ("redesign", 0, 7), ("reduced", 0, -9),
    ("ref", 0, 5), ("references", 0, -10), ("region", 0, -17), ("regular", 0, -4), ("rel", 0, -18),
    ("related", 0, -38), ("relative", 0, 6), ("rem", 0, 6), ("repeater", 0, 12), ("reply", 0, -7),
    ("research", 0, -5), ("resources", 0, 6), ("respond", 2, -7), ("responsive", 0, -11), ("result", 8, 4),
    ("results", 8, -4), ("reveal", 0, 5), ("reverse", 0, 10), ("review", 0, -8), ("reviews", 0, -21),
    ("rich", 0, 19), ("richtext", 0, 28), ("right", 0, -22), ("ring", 0, -5), ("robots", 0, -4), ("round", 0, 5),
    ("rounded", 0, -4), ("row", 8, 7), ("rows", 0, 8), ("rte", 0, 13), ("safe", 0, 4), ("sale", 0, 4),
    ("sans", 0, -31), ("scheme", 0, 4), ("school", 0, 4), ("science", 0, -4), ("score", 0, -15), ("screen", 0, -12),
    ("scroll", 0, -7), ("scrollbar", 0, -10), ("scroller", 0, -12), ("sdk", 0, -19), ("search", 0, -14),
    ("sec", 0, -29), ("second", 0, 6), ("sect", 0, 10), ("section", 0, 9), ("sections", 0, -15), ("select", 0, 10),
    ("selected", 0, -5), ("selector", 0, -7), ("semibold", 0, -8), ("seo", 0, -6), ("separate", 0, 5),
    ("series", 0, -7), ("service", 0, -5), ("set", 0, -10), ("shadow", 0, -4), ("share", 0, -25),
    ("sharedaddy", 0, -8), ("sharing", 0, -16), ("sheet", 0, -9), ("shop", 0, 21), ("shortcode", 0, -4),
    ("show", 0, 17), ("shrink", 0, -6), ("side", 0, -17), ("sidebar", 0, -25), ("sig", 0, -6), ("sign", 0, -4),
    ("signature", 0, -19), ("signup", 0, -12), ("similar", 0, -12), ("single", 0, 6), ("site", 0, 4),
    ("size", 0, 7), ("sizing", 0, 15), ("skin", 0, -17), ("skip", 0, -7), ("sky", 0, -8), ("slate", 0, 10),
    ("slide", 0, 4), ("slideout", 0, 6), ("slider", 0, -14), ("slideshow", 0, 8), ("slot", 0, 5), ("slug", 0, 6),
    ("small", 0, -36), ("smooth", 0, 5), ("snippet", 0, 15), ("social", 0, -6), ("solar", 0, -8), ("solid", 0, 7),
    ("sort", 0, -7), ("space", 0, 6), ("spacer", 0, -11), ("span", 0, 4), ("special", 0, 11), ("specs", 0, -5),
    ("sponsor", 0, -4), ("sponsored", 0, -4), ("sport", 0, -5), ("sports", 0, -4), ("spotlight", 0, 14),
    ("sqs", 0, 8), ("sqsrte", 0, -5), ("stack", 0, 14), ("stacked", 0, -13), ("staff", 0, -6), ("standard", 0, -4),
    ("start", 0, -4), ("stat", 0, -5), ("static", 0, -9), ("status", 0, -12), ("std", 0, 13), ("sticky", 0, 20),
    ("store", 0, -8), ("stories", 0, -4), ("story", 0, -11), ("stretch", 0, -9), ("stretched", 0, -4),
    ("struct", 0, -6), ("style", 0, -12), ("subline", 0, -8), ("submenu", 0, -12), ("submission", 0, 12),
    ("subscribe", 0, -9), ("subscriber", 0, -9), ("subscription", 0, -7), ("subtitle", 0, -11), ("subtle", 0, -4),
    ("success", 0, -4), ("suggested", 0, -10), ("support", 0, 6), ("supports", 0, -8), ("surface", 0, -5),
    ("survey", 0, -8), ("svg", 0, -5), ("swiper", 0, -25), ("switch", 0, -11), ("switcher", 0, -5), ("tab", 0, -17),
    ("table", 0, -5), ("tablet", 0, 24), ("tabpanel", 0, -9), ("tabs", 0, -9), ("tagline", 0, -4), ("tags", 0, -12),
    ("tall", 0, 17), ("tax", 0, -10), ("taxonomy", 0, 7), ("teaser", 0, -5), ("template", 0, -14),
    ("templates", 0, -5), ("term", 0, 20), ("terms", 0, -6), ("tertiary", 0, -8), ("testimonials", 0, 7),
    ("text", 0, 11), ("textwidget", 0, -5), ("the", 0, 8), ("theme", 0, 12), ("themes", 0, -12), ("third", 0, -4),
    ("thread", 0, -20), ("thumbnail", 0, -16), ("thumbnails", 0, 7), ("ticker", 0, -4), ("tight", 0, 4),
    ("tile", 8, 0), ("tiles", 8, 6), ("timestamp", 0, -5), ("title", 0, -36), ("titles", 0, 4), ("toc", 0, -8),
    ("toggle", 0, -9), ("toggleable", 0, 6), ("toggler", 0, 4), ("tool", 0, -7), ("top", 0, -11), ("topic", 0, -8),
    ("totop", 0, 4), ("touch", 0, -9), ("tracking", 0, 7), ("trail", 0, -4), ("training", 0, 8),
    ("transform", 0, -8), ("translate", 0, -6), ("travel", 0, 5), ("tree", 0, -8), ("trending", 0, -18),
    ("trigger", 0, -5), ("tweak", 0, 22), ("tweet", 0, -5), ("type", 0, -5), ("typography", 0, -11), ("ugc", 0, 14),
    ("uid", 0, -6), ("ultra", 0, -14), ("und", 0, -7), ("underline", 0, -11), ("unit", 0, -5), ("units", 0, -10),
    ("unstyled", 0, -10), ("update", 0, 6), ("upgrade", 0, -6), ("upper", 0, -4), ("uppercase", 0, -6),
    ("url", 0, -9), ("usa", 0, -4), ("use", 0, 4), ("user", 0, -9), ("utility", 0, 5), ("validate", 0, -4),
    ("variable", 0, -15), ("variant", 0, -6), ("variations", 0, 4), ("ver", 0, -11), ("version", 0, -8),
    ("vertical", 0, -5), ("video", 4, -8), ("viewtopic", 0, -9), ("violet", 0, -13), ("visible", 0, -16),
    ("visited", 0, -7), ("visually", 0, -12), ("vote", 0, -4), ("votes", 0, -8), ("warning", 0, -5),
    ("watch", 0, -5), ("weather", 0, -7), ("well", 0, -9), ("white", 0, -15), ("whitespace", 0, 7), ("why", 0, 6),
    ("wide", 0, 12), ("widget", 0, -17), ("widgets", 0, 17), ("width", 0, 16), ("window", 0, 13), ("with", 0, -8),
    ("within", 0, 4), ("without", 0, -17), ("word", 0, 10), ("work", 0, -4), ("wp", 4, 0), ("wpb", 0, -9),
    ("wpd", 0, -4), ("wrap", 0, -4), ("wrapper", 0, -11), ("wysiwyg", 0, 10), ("xen", 0, 15), ("xlarge", 0, -10),
    ("xsmall", 0, -5), ("xxl", 0, 6), ("yarpp", 0, -14), ("youtube", 0, -11), ("zone", 0, -18),
];
