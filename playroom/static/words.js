// Words in five languages, one file each with the same keys; names of cards and calls, written and spoken.

const FALLBACK = "en";
export const LANGUAGES = { en: "English", fr: "Français", de: "Deutsch", nl: "Nederlands", zh: "中文" };
let words = {};
let current = FALLBACK;

export const language = () => current;

export async function speak(code) {
  const chosen = code in LANGUAGES ? code : FALLBACK;
  const answer = await fetch(`static/languages/${chosen}.json`);
  words = await answer.json();
  current = chosen;
  document.documentElement.lang = chosen === "zh" ? "zh-Hans" : chosen;
}

/** The word for a key; {names} in it are replaced. Keys that nobody knows are shown as they are. */
export function t(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

export const known = (key) => key in words;

const RANKS = { A: "rank_A", K: "rank_K", Q: "rank_Q", J: "rank_J", C: "rank_C" };

/** What stands in the corner of a card. */
export function rankLetter(rank, suit) {
  if (suit === "T") return rank === "G" ? "★" : rank;
  return RANKS[rank] ? t(RANKS[rank]) : rank;
}

const SUITS = { "♠": "spades", "♥": "hearts", "♦": "diamonds", "♣": "clubs" };

export const suitWord = (sign) => t(`suit_${SUITS[sign] ?? sign}`);

/** A card of a game that is not ours, "TH", as ours are called, "10♥"; null for everything else. */
export function foreignCard(name) {
  const found = /^([2-9TJQKA])([SHDC])$/.exec(name);
  return found ? (found[1] === "T" ? "10" : found[1]) + { S: "♠", H: "♥", D: "♦", C: "♣" }[found[2]] : null;
}

/** A card as it is said: "ten of hearts". */
export function spoken(text) {
  const name = foreignCard(text) ?? text;
  const trump = /^T(\d+)$/.exec(name);
  if (trump) return t("spoken_trump", { number: trump[1] });
  if (name === "Gstieß") return "Gstieß";
  const found = /^(.+)([♠♥♦♣])$/.exec(name);
  if (!found || !(found[1] in RANKS || /^\d+$/.test(found[1]))) return call(name);
  const rank = RANKS[found[1]] ? t(`spoken_${found[1]}`) : found[1];
  return t("spoken_card", { rank, suit: suitWord(found[2]) });
}

/** A card as it is written in a line of text, with the letters of the language. */
export function written(text) {
  const name = foreignCard(text) ?? text;
  const found = /^([AJQKC])([♠♥♦♣])$/.exec(name);
  if (found) return rankLetter(found[1], found[2]) + found[2];
  return /^T(\d+)$/.test(name) ? t("written_trump", { number: name.slice(1) }) : call(name);
}

/** A call: "pass", "80♠", "capot♥", "bet". Unknown ones, of games that are not ours, stay as they are. */
export function call(name) {
  const bid = /^(capot|\d+)([♠♥♦♣])$/.exec(name);
  if (bid && (bid[1] === "capot" || Number(bid[1]) >= 20)) return `${known(`call_${bid[1]}`) ? t(`call_${bid[1]}`) : bid[1]} ${bid[2]}`;
  const key = `call_${name.toLowerCase()}`;
  return known(key) ? t(key) : name;
}

export function number(value, digits = 1) {
  const rounded = Number(value.toFixed(digits));
  return new Intl.NumberFormat(current).format(rounded);
}

/** With its sign, as results are. */
export function signed(value, digits = 1) {
  const rounded = Number(value.toFixed(digits));
  return new Intl.NumberFormat(current, { signDisplay: "exceptZero" }).format(rounded);
}

/** Fills in everything in the page that says which word it wants. */
export function fillIn(root = document) {
  for (const node of root.querySelectorAll("[data-word]")) node.textContent = t(node.dataset.word);
  for (const node of root.querySelectorAll("[data-word-label]")) {
    node.setAttribute("aria-label", t(node.dataset.wordLabel));
    node.title = t(node.dataset.wordLabel);
  }
}
