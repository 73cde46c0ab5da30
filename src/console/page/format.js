// Numbers, sizes, times and text from the web, as people read them.

const whole = new Intl.NumberFormat('en');
const SIZES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
const SHORT = ['', 'k', 'M', 'G', 'T'];

// What stands where nothing is known.
export const NONE = '–';

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

// 12,345
export function number(value) {
  return isNumber(value) ? whole.format(value) : NONE;
}

function scaled(value, names, gap) {
  let step = 0;
  let rest = Math.abs(value);
  while (rest >= 999.5 && step + 1 < names.length) {
    rest /= 1000;
    step += 1;
  }
  const digits = rest >= 99.95 || (step === 0 && Number.isInteger(rest)) ? 0 : 1;
  const unit = names[step];
  return (value < 0 ? '−' : '') + rest.toFixed(digits) + (unit ? gap + unit : '');
}

// 29.3 kB
export function size(value) {
  return isNumber(value) ? scaled(value, SIZES, ' ') : NONE;
}

// 12.3k
export function short(value) {
  return isNumber(value) ? scaled(value, SHORT, '') : NONE;
}

// 97.4/s
export function rate(value) {
  return isNumber(value) ? `${value > 0 && value < 0.95 ? value.toPrecision(1) : short(value)}/s` : NONE;
}

export function sizeRate(value) {
  return isNumber(value) ? `${size(Math.round(value))}/s` : NONE;
}

// The share of a part, as 12.3 %; never 0 or 100 if it is not.
export function share(part, all) {
  if (!isNumber(part) || !isNumber(all) || all <= 0) return NONE;
  const percent = (100 * part) / all;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent < 100 && percent > 99.9) return '> 99.9 %';
  return `${percent >= 10 || percent === 0 ? percent.toFixed(percent >= 99 && percent < 100 ? 1 : 0) : percent.toFixed(1)} %`;
}

// A share that is an estimate: what is 1 but for rounding is all.
export function part(value) {
  return share(Math.round(value * 1e6) / 1e6, 1);
}

// 1 page, 2 pages
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

// 2 d 4 h, by the two largest units.
export function span(seconds) {
  if (!isNumber(seconds)) return NONE;
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const parts = [];
  let rest = Math.max(0, Math.round(seconds));
  for (const [name, length] of units) {
    const times = Math.floor(rest / length);
    if (times > 0 || (name === 's' && parts.length === 0)) parts.push(`${times} ${name}`);
    else if (parts.length > 0) break;
    rest -= times * length;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

// The same of milliseconds, which may be few.
export function duration(milliseconds) {
  if (!isNumber(milliseconds)) return NONE;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return span(milliseconds / 1000);
}

export function millis(time) {
  const parsed = typeof time === 'number' ? time : Date.parse(time ?? '');
  return Number.isFinite(parsed) ? parsed : null;
}

// `3 min ago`, `in 20 s`; both by the crawl's clock.
export function ago(time, now) {
  const at = millis(time);
  if (at === null) return NONE;
  const seconds = (now - at) / 1000;
  if (Math.abs(seconds) < 1.5) return 'now';
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
}

const two = (value) => String(value).padStart(2, '0');

// 14:03:22, in the reader's zone.
export function clock(time) {
  const at = new Date(millis(time) ?? NaN);
  if (Number.isNaN(at.getTime())) return NONE;
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

// 2026-11-23 14:03
export function day(time) {
  const at = new Date(millis(time) ?? NaN);
  if (Number.isNaN(at.getTime())) return NONE;
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

// Times in a text, in the reader's zone as all others of the page.
export function withTimes(text) {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => day(time));
}

// Names of the crawl as words: `not-fetched` as `not fetched`.
export function words(name) {
  return String(name ?? '').replaceAll('-', ' ').replaceAll('_', ' ');
}

// Letters that would turn or hide what stands around them are shown as such.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

export function plain(text) {
  return String(text ?? '').replace(UNSEEN, '\ufffd');
}

// The letters of a label `xn--…` (RFC 3492); null if it has none.
function decoded(label) {
  const code = label.slice(4);
  const cut = code.lastIndexOf('-');
  const out = cut > 0 ? [...code.slice(0, cut)] : [];
  let n = 128;
  let bias = 72;
  let i = 0;
  for (let at = cut > 0 ? cut + 1 : 0; at < code.length; ) {
    const before = i;
    for (let weight = 1, k = 36; ; k += 36) {
      const letter = code.charCodeAt(at++);
      const digit = letter >= 97 && letter <= 122 ? letter - 97 : letter >= 48 && letter <= 57 ? letter - 22 : 36;
      if (!(digit < 36)) return null;
      i += digit * weight;
      const bound = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < bound) break;
      weight *= 36 - bound;
      if (weight > 2 ** 31) return null;
    }
    const length = out.length + 1;
    let delta = before === 0 ? Math.floor(i / 700) : Math.floor((i - before) / 2);
    delta += Math.floor(delta / length);
    let k = 0;
    for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
    bias = k + Math.floor((36 * delta) / (delta + 38));
    n += Math.floor(i / length);
    i %= length;
    if (n > 0x10ffff || (n >= 0xd800 && n <= 0xdfff)) return null;
    out.splice(i, 0, String.fromCodePoint(n));
    i += 1;
  }
  return out.join('');
}

// A host's name in the letters of its language, if it has others than ASCII. Shown beside the name
// itself, never instead of it: letters of two scripts look alike.
export function inLetters(url) {
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(String(url ?? ''))?.[1] ?? '';
  const name = host.replace(/^.*@/, '').replace(/:\d*$/, '').toLowerCase();
  if (!/(^|\.)xn--/.test(name)) return null;
  const labels = name.split('.').map((label) => (label.startsWith('xn--') ? decoded(label) ?? label : label));
  const letters = plain(labels.join('.'));
  return letters === name ? null : letters;
}

// Whether a link may lead there.
export function isWeb(url) {
  try {
    return ['http:', 'https:'].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

// A word of a command line, for a POSIX shell.
export function quoted(word) {
  const text = String(word ?? '');
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
