// Cards, drawn here: rank and suit in two corners, pips or a coat of arms in the middle; trumps of Cego in the same
// style. Names are those of the server: "10♥", "J♠", "C♣" (a cavalier), "T21" (a trump), "Gstieß".

import { rankLetter } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  "♠": "M50 4C62 28 95 44 95 66C95 82 83 88 72 88C63 88 56 82 53 74C54 85 58 93 65 98L35 98C42 93 46 85 47 74C44 82 37 88 28 88C17 88 5 82 5 66C5 44 38 28 50 4Z",
  "♥": "M50 96C20 68 4 50 4 30C4 14 17 5 29 5C40 5 47 12 50 21C53 12 60 5 71 5C83 5 96 14 96 30C96 50 80 68 50 96Z",
  "♦": "M50 2Q66 30 88 50Q66 70 50 98Q34 70 12 50Q34 30 50 2Z",
  "♣": "M50 3A22 22 0 0 1 67 39A22.500 22.500 0 1 1 55 71C56 83 60 92 67 98L33 98C40 92 44 83 45 71A22.500 22.500 0 1 1 33 39A22 22 0 0 1 50 3Z",
};
// Coats of arms of court cards, in a box of 100 by 60.
const ARMS = {
  K: "M10 54L4 14L28 34L50 4L72 34L96 14L90 54ZM12 60H88V57H12Z",
  Q: "M10 56L2 22Q20 40 28 18Q38 40 50 10Q62 40 72 18Q80 40 98 22L90 56ZM50 0A6 6 0 1 1 49.900 0Z",
  C: "M30 60Q30 40 48 32L34 36Q22 38 22 26L46 6L48 0L56 6Q80 12 82 60Z",
  J: "M50 60L46 22Q20 34 8 10Q30 14 46 16L50 0L54 16Q70 14 92 10Q80 34 54 22Z",
};
const GSTIESS = "M50 92Q22 92 14 60Q4 60 4 48Q12 50 18 42Q30 16 50 40Q70 16 82 42Q88 50 96 48Q96 60 86 60Q78 92 50 92ZM4 42A6 6 0 1 1 3.900 42ZM96 42A6 6 0 1 1 95.900 42ZM50 26A7 7 0 1 1 49.900 26Z";
const COLUMNS = { l: 31, m: 50, r: 69 };
const PIPS = {
  1: "m70",
  2: "m34 m106",
  3: "m34 m70 m106",
  4: "l34 r34 l106 r106",
  5: "l34 r34 m70 l106 r106",
  6: "l34 r34 l70 r70 l106 r106",
  7: "l34 r34 m52 l70 r70 l106 r106",
  8: "l34 r34 m52 l70 r70 m88 l106 r106",
  9: "l32 r32 l57 r57 m70 l83 r83 l108 r108",
  10: "l32 r32 m44 l57 r57 l83 r83 m96 l108 r108",
};

export function parse(name) {
  const trump = /^T(\d+)$/.exec(name);
  if (trump) return { suit: "T", rank: trump[1] };
  if (name === "Gstieß") return { suit: "T", rank: "G" };
  const found = /^(.+)([♠♥♦♣])$/.exec(name);
  return found && /^(\d+|[AJQKC])$/.test(found[1]) ? { suit: found[2], rank: found[1] } : null;
}



function make(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function suit(sign, x, y, size, turned = false) {
  const turn = turned ? ` rotate(180 50 50)` : "";
  return make("path", {
    d: PATHS[sign],
    transform: `translate(${x - size / 2} ${y - size / 2}) scale(${size / 100})${turn}`,
  });
}

function corner(rank, sign) {
  const text = make("text", { x: 14.5, y: 27, "text-anchor": "middle", class: rank.length > 1 ? "two" : "one" });
  text.textContent = rank;
  const group = make("g", {}, text);
  if (sign) group.append(suit(sign, 14.5, 41, 18));
  return group;
}

function middle(rank, sign) {
  const group = make("g", {});
  if (ARMS[rank]) {
    group.append(make("rect", { x: 27, y: 18, width: 46, height: 104, rx: 4, class: "frame" }));
    const half = () =>
      make(
        "g",
        {},
        make("path", { d: ARMS[rank], transform: "translate(33 25) scale(.34)" }),
        suit(sign, 50, 57, 19),
      );
    const other = half();
    other.setAttribute("transform", "rotate(180 50 70)");
    group.append(half(), other, make("path", { d: "M29 70H71", class: "line" }));
    return group;
  }
  const count = rank === "A" ? 1 : Number(rank);
  for (const pip of (PIPS[count] ?? "m70").split(" ")) {
    const y = Number(pip.slice(1));
    group.append(suit(sign, COLUMNS[pip[0]], y, count === 1 ? 46 : 20, y > 72));
  }
  return group;
}

function trumpMiddle(rank) {
  const group = make("g", {});
  group.append(make("rect", { x: 24, y: 16, width: 52, height: 108, rx: 5, class: "frame" }));
  group.append(make("rect", { x: 28, y: 20, width: 44, height: 100, rx: 3, class: "thin" }));
  if (rank === "G") {
    group.append(make("path", { d: GSTIESS, transform: "translate(29 46) scale(.42)" }));
  } else {
    const text = make("text", { x: 50, y: 84, "text-anchor": "middle", class: "number" });
    text.textContent = rank;
    group.append(text);
    for (const y of [36, 104]) group.append(make("path", { d: `M50 ${y - 8}l7 8-7 8-7-8z` }));
  }
  return group;
}

const SUIT_CLASS = { "♠": "spades", "♥": "hearts", "♦": "diamonds", "♣": "clubs", T: "trumps" };
export const suitClass = (sign) => SUIT_CLASS[sign] ?? "";

/** A card face up, as an SVG that nobody reads aloud: whoever shows it says its name. */
export function face(name) {
  const { suit: sign, rank } = parse(name);
  const letter = rankLetter(rank, sign);
  const svg = make("svg", { viewBox: "0 0 100 140", class: `card ${SUIT_CLASS[sign]}`, "aria-hidden": "true" });
  svg.append(make("rect", { x: 1, y: 1, width: 98, height: 138, rx: 9, class: "paper" }));
  const ink = make("g", { class: "ink" });
  const plain = sign === "T" ? null : sign;
  const other = corner(letter, plain);
  other.setAttribute("transform", "rotate(180 50 70)");
  ink.append(corner(letter, plain), other, sign === "T" ? trumpMiddle(rank) : middle(rank, sign));
  svg.append(ink);
  return svg;
}

/** A card face down. */
export function back() {
  const svg = make("svg", { viewBox: "0 0 100 140", class: "card back", "aria-hidden": "true" });
  svg.append(make("rect", { x: 1, y: 1, width: 98, height: 138, rx: 9, class: "paper" }));
  svg.append(make("rect", { x: 8, y: 8, width: 84, height: 124, rx: 5, class: "pattern" }));
  for (let y = 22; y < 130; y += 24)
    for (let x = 20; x < 90; x += 20) svg.append(make("path", { d: `M${x} ${y}l7 10-7 10-7-10z`, class: "lozenge" }));
  return svg;
}

/** A suit sign as a drawing, for texts. */
export function sign(name) {
  const svg = make("svg", { viewBox: "0 0 100 100", class: `sign ${SUIT_CLASS[name]}`, "aria-hidden": "true" });
  svg.append(make("path", { d: PATHS[name] }));
  return svg;
}
