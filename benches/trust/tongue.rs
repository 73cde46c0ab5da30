//! Texts in several languages and scripts, made of their own words.

use super::text::{Random, capital};

/// A language, with its script and its way of putting words together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tongue {
    English,
    German,
    Russian,
    Arabic,
    Chinese,
}

const ENGLISH: &str = "the of and to in a is that for it was on with as be by at from his her had not are but which or you were they have this one all we can more about out up time so some into only year two other new first people now over after even most made before such where through our way well under here last work life long place old home small found house still again part since day great man";

const GERMAN: &str = "der die das und in den von zu mit sich des auf ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man kein wurde sei Jahr Haus Straße Gemeinde Verordnung Sitzung Antrag Brücke Prüfung Übergang Größe Maß Wasser Bahn Stadt Markt";

const RUSSIAN: &str = "и в не на что с по как это к из у за он от для же о но до так было все его бы если только когда уже еще или мы вы при после во время под где быть год город дом река улица люди работа жизнь слово дело вода земля книга рука свет новый старый большой первый последний хороший сказать видеть знать идти стоять народ дорога письмо окно вечер утро зима лето";

const ARABIC: &str = "في من على إلى عن مع هذا هذه التي الذي أن كان قد لا ما هو هي بعد قبل بين كل عند حتى أو ثم كما لم غير يوم سنة مدينة بيت كتاب ماء طريق رجل عمل حياة كلمة باب نور أرض سماء شمس قمر بحر جبل نهر شعب دولة حكومة وزير مجلس قانون سوق مدرسة جامعة علم تاريخ جديد قديم كبير صغير أول آخر";

const CHINESE: &str = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运";

const RUSSIAN_ROOTS: &str = "вод гор лес сад мор пол рек хлеб стол дом сол ветр камн сердц голос колес молок берег остров корабл звезд птиц рыб трав цвет снег дожд гроз облак солнц";
const RUSSIAN_ENDINGS: &str =
    "а ы у ой ом ами ный ного ному ная ника ник ство ства ение ения овать ил ила или ский ского";
const ARABIC_ENDINGS: &str = "ة ات ون ين ها هم نا ية ي ان";

fn words(list: &'static str) -> Vec<&'static str> {
    list.split(' ').collect()
}

impl Tongue {
    /// Its tag in `lang` attributes.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::Russian => "ru",
            Self::Arabic => "ar",
            Self::Chinese => "zh",
        }
    }

    /// What stands between two words.
    fn gap(self) -> &'static str {
        match self {
            Self::Chinese => "",
            _ => " ",
        }
    }

    /// A word: half are those that every text has.
    pub(crate) fn word(self, random: &mut Random) -> String {
        let common = random.percent(50);
        match self {
            Self::English if common => random.pick(&words(ENGLISH)).to_owned(),
            Self::English => random.word(),
            Self::German if common => random.pick(&words(GERMAN)).to_owned(),
            // Words that are put together from two.
            Self::German => {
                let last = random.pick(&["ung", "haus", "straße", "prüfung", "amt", "größe"]);
                capital(&random.word()) + last
            }
            Self::Russian if common => random.pick(&words(RUSSIAN)).to_owned(),
            Self::Russian => {
                let root = random.pick(&words(RUSSIAN_ROOTS)).to_owned();
                let second = match random.percent(50) {
                    true => random.pick(&words(RUSSIAN_ROOTS)),
                    false => "",
                };
                root + second + random.pick(&words(RUSSIAN_ENDINGS))
            }
            Self::Arabic if common => random.pick(&words(ARABIC)).to_owned(),
            Self::Arabic => {
                let stem = random.pick(&words(ARABIC)).to_owned();
                let first = random.pick(&["ال", "وال", "بال", "لل", ""]);
                first.to_owned() + &stem + random.pick(&words(ARABIC_ENDINGS))
            }
            Self::Chinese => {
                let all: Vec<char> = CHINESE.chars().collect();
                (0..random.between(1, 2))
                    .map(|_| all[random.below(all.len())])
                    .collect()
            }
        }
    }

    /// A few words, as a title.
    pub(crate) fn phrase(self, random: &mut Random, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| self.word(random)).collect();
        let mut letters = words.join(self.gap());
        if let Some(first) = letters.chars().next() {
            let upper: String = first.to_uppercase().collect();
            letters.replace_range(..first.len_utf8(), &upper);
        }
        letters
    }

    /// Sentences of so many words in all.
    pub(crate) fn prose(self, random: &mut Random, words: usize) -> String {
        let end = match self {
            Self::Chinese => "。",
            _ => ". ",
        };
        let mut text = String::new();
        let mut left = words;
        while left > 0 {
            let length = random.between(5, 17).min(left);
            left -= length;
            text += &self.phrase(random, length);
            text += end;
        }
        text.trim_end().to_owned()
    }

    /// Paragraphs of so many words in all.
    pub(crate) fn paragraphs(self, random: &mut Random, words: usize) -> String {
        let mut html = String::new();
        let mut left = words;
        while left > 0 {
            let length = random.between(25, 70).min(left);
            left -= length;
            html += &format!("<p>{}</p>\n", self.prose(random, length));
        }
        html
    }
}
