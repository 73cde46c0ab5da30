//! What refusals say, in several languages, and the marks by which their scripts are known. The
//! file is a list: phrases are in lower case and separated by bars.

/// Phrases of challenges.
pub(super) const TEST: &str = "verify you are human | verify that you are human | verifying you are human | \
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

/// Marks of vendors of challenges in the addresses of scripts and frames, in scripts and in the
/// names of elements.
pub(super) const VENDORS: &str = "/cdn-cgi/challenge-platform/ | _cf_chl_opt | captcha-delivery.com | px-captcha | \
    _pxappid | _incapsula_resource | geetest | arkoselabs.com | funcaptcha | awswaf | \
    /_sec/cp_challenge | perfdrive.com | sgcaptcha";

/// A script that a vendor adds to every page of a site, which is no challenge.
pub(super) const ON_EVERY_PAGE: &str = "/challenge-platform/scripts/jsd";

/// Marks of widgets that forms have too.
pub(super) const WIDGETS: &str = "cf-turnstile | challenges.cloudflare.com | hcaptcha | h-captcha | \
    recaptcha | captcha";

/// Parts of words of what a test asks and says. Other sentences are those of a page.
pub(super) const OF_TESTS: &str = "captcha | robot | human | mensch | humain | umano | browser | navigateur | \
    navegador | javascript | cookie | security | sicherheit | sécurité | segurid | sicurezza | \
    traffic | challenge | verif | überprüf | bestätig | vérif | checking | instant | moment | \
    please wait | warten | ray id | cloudflare | puzzle | automat | connection | przeglądark | \
    człowiek | робот | человек | браузер | ロボット | 人間 | 確認 | 验证 | 真人 | 机器";

/// Beginnings of headlines of access denials.
pub(super) const DENIED: &str = "access denied | access to this page has been denied | access to this page is denied | \
    access blocked | 403 forbidden | 403 - forbidden | error 403 | 403 error | error: the request could not be satisfied | forbidden | \
    you have been blocked | sorry, you have been blocked | request blocked | request rejected | \
    the request could not be satisfied | zugriff verweigert | zugriff gesperrt | accès refusé | \
    accès interdit | acceso denegado | acceso prohibido | accesso negato | acesso negado | \
    toegang geweigerd | odmowa dostępu | dostęp zabroniony | доступ запрещен | доступ запрещён | \
    アクセスが拒否されました | 访问被拒绝 | 拒绝访问";

/// What a reference number of a denial stands after.
pub(super) const REFERENCES: &str = "reference # | reference id | reference number | ray id | incident id | \
    incident number | support id | request id | event id | error id | block id | transaction id";

/// Beginnings of sentences that deny access to the visitor.
pub(super) const TO_VISITORS: &str = "you don't have permission | you do not have permission | \
    you are not allowed | you are not authorized | you are unable to access | your ip | \
    your request | your access | sorry, you | ihre ip | sie haben keine berechtigung | \
    sie sind nicht berechtigt | vous n'avez pas | votre adresse ip | no tiene permiso | \
    su dirección ip | non hai il permesso | il tuo indirizzo ip | você não tem permissão | \
    u hebt geen toestemming | je hebt geen toestemming | nie masz uprawnień | ваш ip | у вас нет";

/// Programs that sign the pages that they make.
pub(super) const SERVERS: &str = "nginx | apache | openresty | cloudflare | microsoft-iis | lighttpd | litespeed | \
    caddy | varnish | tengine | cloudfront";

/// Beginnings of headlines of consent questions.
pub(super) const CONSENT: &str = "before you continue | we value your privacy | your privacy matters | \
    we care about your privacy | bevor sie fortfahren | bevor sie weitermachen | \
    bevor du fortfährst | ihre privatsphäre | deine privatsphäre | wir brauchen ihre zustimmung | \
    avant de continuer | avant d'accéder | votre vie privée | nous respectons votre vie privée | \
    antes de continuar | tu privacidad | su privacidad | valoramos tu privacidad | \
    prima di continuare | la tua privacy | rispettiamo la tua privacy | antes de prosseguir | \
    a sua privacidade | voordat je verdergaat | voordat u verdergaat | jouw privacy | uw privacy | \
    zanim przejdziesz | szanujemy twoją prywatność | прежде чем продолжить | 続行する前に | 继续之前";

/// Labels of the button that gives consent.
pub(super) const ACCEPT: &str = "accept | agree | allow all | akzeptieren | zustimmen | einverstanden | accepter | j'accepte | \
    aceptar | acepto | accetta | accetto | aceitar | aceito | accepteren | akkoord | akceptuj | \
    zgadzam | zaakceptuj | принять | согласен | 同意 | 接受";

/// What consent is asked for.
pub(super) const SUBJECT: &str = "cookie | クッキー | 数据 | データ";

/// Parts of words of what consent questions say. Other sentences are those of a page.
pub(super) const OF_CONSENT: &str = "cookie | consent | privac | privat | data | daten | donné | dato | dados | \
    gegeven | dane | данн | advert | werb | anzeig | publicit | annunc | anúnc | anunc | reklam | \
    реклам | zustimm | einwillig | partner | accept | akzept | acept | accett | aceit | クッキー | \
    データ | 数据 | 広告 | 广告";

/// Parts of paths of the pages that a consent question leads to.
pub(super) const OF_TERMS: &str = "privac | terms | cookie | datenschutz | impress | imprint | legal | polic | agb | \
    nutzung | help | login | signin | account | lang | preferenc | setting | consent | hl=";
