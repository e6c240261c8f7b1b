// The table itself: seats around it, the trick in the middle, the own hand in front, and what can be said.

import { back, face, parse, sign, suitClass } from "./cards.js";
import { el, rove } from "./dom.js";
import { call, foreignCard, known, number, spoken, suitWord, t, written } from "./words.js";

const PLACES = { 2: ["bottom", "top"], 3: ["bottom", "left", "right"], 4: ["bottom", "left", "top", "right"] };

/** Where a seat is drawn: the person sits at the bottom, play goes clockwise. */
export function place(seat, view, seats) {
  const around = (seat - (view.seat ?? 0) + seats) % seats;
  return PLACES[seats]?.[around] ?? (around === 0 ? "bottom" : "top");
}

/** What a seat is called: "you", "partner", or where it is. */
export function seatName(seat, state) {
  const { table, view } = state;
  const seats = view.seats.length;
  if (table.seat === seat && !state.replay?.record) return t("you");
  const own = table.teams?.find((team) => team.includes(view.seat ?? 0)) ?? [];
  if (table.seat !== null && own.includes(seat)) {
    if (own.length === 2) return t("partner");
    return `${t("partner")} (${t(`at_${place(seat, view, seats)}`)})`;
  }
  if (seats === 2) return table.seat === null ? `${t("seat")} ${seat + 1}` : t("opponent");
  return PLACES[seats] ? t(`at_${place(seat, view, seats)}`) : `${t("seat")} ${seat + 1}`;
}

const nameOf = (seat, state) => (state.replay?.names ?? state.table.names)[seat] ?? "";

/** A player's name for people: levels in their language, everything else as it is called. */
export function playerName(name) {
  if (known(`level_${name}`)) return t(`level_${name}`);
  return name === "me" ? t("you") : name;
}

function figure(key, value) {
  return el("span", { class: `figure ${key}` }, `${t(`figure_${key}`)} `, el("b", { text: typeof value === "number" ? number(value) : value }));
}

function lastCall(seat, view) {
  if (!view.calls?.length || view.phase === "over") return null;
  const own = view.calls.filter(([who]) => who === seat).at(-1);
  const betting = view.phase === "bet" || view.phase === "auction" || view.calls.at(-1)[0] === seat;
  return own && betting && (view.phase !== "play" || !view.last_trick) ? own[1] : null;
}

/** A call with its suit drawn, "80 ♠", or a word. */
export function callNode(name) {
  const bid = /^(.*?)([♠♥♦♣])$/.exec(call(name));
  return bid ? el("span", { class: `call ${suitClass(bid[2])}` }, bid[1].trim(), sign(bid[2])) : el("span", { class: "call", text: call(name) });
}

function smallHand(names) {
  return el(
    "div",
    { class: "small-hand", role: "img", "aria-label": names.map(spoken).join(", ") },
    ...names.map((name) => el("span", {}, face(name))),
  );
}

function seatNode(seat, state) {
  const { view } = state;
  const of = view.seats[seat];
  const where = place(seat, view, view.seats.length);
  const turn = view.turn === seat && view.phase !== "over";
  const node = el("section", { class: `seat ${where}${turn ? " turn" : ""}`, data: { seat }, "aria-label": seatName(seat, state) });
  const name = nameOf(seat, state);
  const head = el("div", { class: "plate" });
  head.append(
    el("span", { class: "turn-mark", text: turn ? "▶" : "", "aria-hidden": "true" }),
    el("span", { class: "who", text: seatName(seat, state) }),
    name && name !== "me" ? el("span", { class: "player", text: playerName(name) }) : null ?? "",
  );
  if (view.dealer === seat) head.append(el("span", { class: "tag dealer", text: t("tag_dealer") }));
  for (const tag of of.tags ?? []) head.append(el("span", { class: `tag ${tag}`, text: t(`tag_${tag}`) }));
  const contract = view.facts?.find(([key]) => key === "contract");
  if (contract && of.tags?.includes("declarer")) head.append(callNode(contract[1]));
  node.append(head);
  const figures = Object.entries(of.figures ?? {});
  if (figures.length) node.append(el("div", { class: "figures" }, ...figures.map(([key, value]) => figure(key, value))));
  const shown = of.shown ?? [];
  if (where !== "bottom" || view.open) {
    if (shown.length && where !== "bottom") node.append(smallHand(shown));
    else if (of.cards && where !== "bottom") {
      const backs = el("div", { class: "backs", role: "img", "aria-label": t("cards_held", { number: of.cards }) });
      for (let index = 0; index < Math.min(of.cards, 16); index++) backs.append(el("span", {}, back()));
      node.append(backs);
    }
  }
  if (of.taken?.length) {
    node.append(
      el(
        "div",
        { class: "taken", role: "img", "aria-label": `${t("taken")}: ${of.taken.map(spoken).join(", ")}` },
        ...of.taken.map((card) => el("span", { class: suitClass(parse(card).suit), text: written(card) })),
      ),
    );
  }
  const said = lastCall(seat, view);
  if (said) node.append(el("div", { class: "bubble" }, callNode(said)));
  return node;
}

function trickNode(state) {
  const { view, done } = state;
  const resting = !view.trick.length && view.last_trick;
  const cards = resting ? view.last_trick.cards : view.trick;
  const winner = resting ? view.last_trick.winner : view.winning;
  const label = cards.map(([seat, card]) => `${seatName(seat, state)}: ${spoken(card)}`).join(", ");
  const node = el("div", { class: `trick${resting ? " resting" : ""}`, role: "img", "aria-label": label ? `${t(resting ? "last_trick" : "trick")}: ${label}` : t("trick_empty") });
  cards.forEach(([seat, card], index) => {
    const where = place(seat, view, view.seats.length);
    const fresh = index === cards.length - 1 && done && done.name === card && !state.quiet;
    const holder = el("div", { class: `played ${where}${fresh ? " fresh" : ""}${winner === seat ? " winning" : ""}`, vars: { order: index } }, face(card));
    if (winner === seat) holder.append(el("span", { class: "star", text: "★" }));
    node.append(holder);
  });
  return node;
}

function pilesNode(view) {
  const piles = Object.entries(view.piles ?? {});
  if (!piles.length) return null;
  const node = el("div", { class: "piles" });
  for (const [key, cards] of piles) {
    const hidden = typeof cards === "number";
    const label = hidden ? `${t(`pile_${key}`)}: ${t("cards_held", { number: cards })}` : `${t(`pile_${key}`)}: ${cards.map(spoken).join(", ")}`;
    const pile = el("div", { class: `pile${hidden ? " hidden" : ""}`, role: "img", "aria-label": label });
    pile.append(el("span", { class: "pile-name", text: t(`pile_${key}`) }));
    if (hidden) pile.append(el("span", { class: "stack" }, back(), back(), back()));
    else pile.append(el("span", { class: "small-hand" }, ...cards.map((card) => el("span", {}, face(card)))));
    node.append(pile);
  }
  return node;
}

function badge(bar) {
  if (!bar) return null;
  if (bar.untried) return null;
  const behind = bar.behind ? number(bar.behind, bar.behind < 0.1 ? 2 : 1) : "0";
  const text = bar.probability !== undefined ? `${Math.round(100 * bar.probability)}%` : bar.best || bar.value === undefined ? "★" : behind === "0" ? "≈" : `−${behind}`;
  return el("span", { class: `badge${bar.best ? " best" : ""}`, text });
}

function handNode(state, play) {
  const { view } = state;
  const legal = new Map(view.actions.map(([action, name]) => [name, action]));
  const held = view.hand;
  const choosing = held.some((name) => legal.has(name));
  const hand = el("div", { class: `hand${held.length > 8 ? " many" : ""}`, role: "group", "aria-label": t("your_hand"), vars: { n: held.length, mid: (held.length - 1) / 2 } });
  const bars = new Map((state.hint?.bars ?? []).map((bar, index) => [bar.name, { ...bar, best: index === 0 }]));
  held.forEach((name, index) => {
    const action = legal.get(name);
    const allowed = action !== undefined;
    const why = view.turn === view.seat && choosing ? t("not_legal") : t("not_your_turn");
    const card = el("button", {
      type: "button",
      class: `hand-card${allowed ? " legal" : ""}${choosing && !allowed ? " dim" : ""}`,
      "aria-disabled": allowed ? null : "true",
      data: { card: name, ...(allowed ? { action } : {}) },
      vars: { i: index },
      on: { click: () => play(allowed ? action : null, why) },
    });
    card.append(face(name), el("span", { class: "unseen", text: allowed ? spoken(name) : `${spoken(name)}, ${why}` }));
    const hint = allowed ? badge(bars.get(name)) : null;
    if (hint) card.append(hint);
    hand.append(el("div", { class: "holder", vars: { i: index } }, card));
  });
  if (held.length) rove(hand);
  return hand;
}

/** "[Private: 3][Round 2]", as some games of OpenSpiel describe themselves, as a list; null for other texts. */
function told(text) {
  if (!/^(\[[^[\]]+\])+$/.test(text)) return null;
  const list = el("dl", { class: "told", tabindex: "0", "aria-label": t("position") });
  for (const [, entry] of text.matchAll(/\[([^[\]]+)\]/g)) {
    const [, key, value] = /^([A-Za-z ]+?):? (.*)$/.exec(entry) ?? [null, entry, ""];
    list.append(el("dt", { text: key }), el("dd", { text: value }));
  }
  return list;
}

function board(view, play, hint) {
  const lines = view.text.split("\n").filter((line) => line.length);
  const wide = lines[0]?.length ?? 0;
  const square = lines.length > 2 && lines.length < 12 && wide < 12 && lines.every((line) => line.length === wide);
  if (!square) return null;
  const cells = new Map();
  const bars = new Map((hint?.bars ?? []).map((bar, index) => [bar.action, { ...bar, best: index === 0 }]));
  for (const [action, name] of view.actions) {
    const at = /\((\d+),(\d+)\)$/.exec(name);
    if (at) cells.set(`${at[1]},${at[2]}`, action);
  }
  const grid = el("div", { class: "board", vars: { wide }, role: "group", "aria-label": t("board") });
  lines.forEach((line, row) =>
    [...line].forEach((mark, column) => {
      const action = cells.get(`${row},${column}`);
      const shown = mark === "." ? "" : mark;
      const label = `${row + 1}, ${column + 1}: ${shown || t("free")}`;
      if (action === undefined) grid.append(el("span", { class: `cell mark-${mark}`, text: shown, role: "img", "aria-label": label }));
      else grid.append(el("button", { type: "button", class: "cell", "aria-label": label, data: { action }, on: { click: () => play(action) } }, badge(bars.get(action))));
    }),
  );
  if (cells.size) rove(grid);
  return { grid, covered: cells.size > 0 };
}

/** Bids in a box: a column for each value and a row for each suit (the other way round on a phone). */
function biddingBox(bids, play, bars) {
  const box = el("div", { class: "bids", role: "group", "aria-label": t("bids") });
  for (const [action, name, value, suit] of bids) {
    const node = el("button", { type: "button", class: `bid ${suitClass(suit)}`, data: { action }, "aria-label": `${call(value)} ${suitWord(suit)}`, on: { click: () => play(action) } }, call(value), sign(suit));
    const bar = bars.get(name);
    if (bar && (bar.best || bar.close)) node.append(badge(bar));
    box.append(node);
  }
  rove(box);
  return box;
}

/** Cards of games that are not ours by suit; everything else in the game's own order. */
function inSuits(actions) {
  if (!actions.every(([, name]) => foreignCard(name))) return actions;
  return [...actions].sort(([one, a], [two, b]) => "SHCD".indexOf(a[1]) - "SHCD".indexOf(b[1]) || two - one);
}

function actionsNode(state, play, skip) {
  const { view } = state;
  const node = el("div", { class: "actions", role: "group", "aria-label": t("actions") });
  if (skip) return node;
  const bars = new Map((state.hint?.bars ?? []).map((bar, index) => [bar.name, { ...bar, best: index === 0 }]));
  const held = new Set(view.hand ?? []);
  const bids = [];
  const words = el("div", { class: "words" });
  for (const [action, name] of inSuits(view.actions)) {
    if (held.has(name)) continue;
    const bid = view.phase === "auction" ? /^(capot|\d+)([♠♥♦♣])$/.exec(name) : null;
    if (bid) bids.push([action, name, bid[1], bid[2]]);
    else {
      const card = foreignCard(name);
      const word = el("button", { type: "button", class: `word ${/^[a-z]+$/.test(name) ? name : ""}`, data: { action }, text: written(name), "aria-label": card ? spoken(name) : null, on: { click: () => play(action) } });
      const hint = badge(bars.get(name));
      if (hint) word.append(hint);
      words.append(word);
    }
  }
  if (words.childElementCount) {
    rove(words);
    node.append(words);
  }
  if (bids.length) node.append(biddingBox(bids, play, bars));
  return node;
}

function focusKey() {
  const at = document.activeElement;
  return at?.dataset?.card ? `[data-card="${at.dataset.card}"]` : at?.dataset?.action ? `[data-action="${at.dataset.action}"]` : null;
}

/** Draws a position; what had the focus has it again. */
export function draw(felt, state, play) {
  const focused = felt.contains(document.activeElement) ? focusKey() : null;
  const inHand = document.activeElement?.classList.contains("hand-card");
  const { view } = state;
  const seats = view.seats.length;
  felt.className = `felt seats-${Math.min(seats, 5)} kind-${view.kind} phase-${view.phase}${state.quiet ? " quiet" : ""}`;
  const around = [...Array(seats).keys()].map((step) => (step + (view.seat ?? 0)) % seats);
  const others = el("div", { class: "others" }, ...around.slice(1).map((seat) => seatNode(seat, state)));
  const centre = el("div", { class: "centre" });
  let covered = false;
  if (view.kind === "plain") {
    const drawn = board(view, play, state.hint);
    covered = drawn?.covered ?? false;
    centre.append(drawn?.grid ?? told(view.text.trim()) ?? el("pre", { class: "plain", tabindex: "0", "aria-label": t("position"), text: view.text || "…" }));
  } else {
    centre.append(trickNode(state));
    for (const [key, value] of view.facts ?? []) if (key === "pot" || key === "stake") centre.append(el("div", { class: "chips" }, el("span", { class: "coins", "aria-hidden": "true" }), `${t(`fact_${key}`)} `, el("b", { text: number(value) })));
    const piles = pilesNode(view);
    if (piles) centre.append(piles);
  }
  const own = el("div", { class: "own" }, seatNode(around[0], state), actionsNode(state, play, covered));
  if (view.kind === "cards") own.append(view.open && view.seats[around[0]].shown?.length ? openHand(view.seats[around[0]].shown) : handNode(state, play));
  felt.replaceChildren(others, centre, own);
  const again = focused ? felt.querySelector(focused) : null;
  if (again) again.focus({ preventScroll: true });
  else if (inHand) felt.querySelector(".hand-card.legal, .hand-card")?.focus({ preventScroll: true });
}

function openHand(names) {
  const hand = el("div", { class: `hand open${names.length > 8 ? " many" : ""}`, role: "img", "aria-label": names.map(spoken).join(", "), vars: { n: names.length, mid: (names.length - 1) / 2 } });
  names.forEach((name, index) => hand.append(el("div", { class: "holder", vars: { i: index } }, el("span", { class: "hand-card", vars: { i: index } }, face(name)))));
  return hand;
}
