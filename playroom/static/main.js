// Ties it together: frames from the server become one state, and the state becomes the page.

import { alarm, announce, button, byId, el } from "./dom.js";
import { draw, playerName, seatName } from "./felt.js";
import { choose, chosenGame, drawLobby, variantName } from "./lobby.js";
import { drawSide, lead, resultNode, verdict } from "./side.js";
import { connect, keepToken, send, token } from "./socket.js";
import { call, fillIn, language, LANGUAGES, number, signed, speak, spoken, t } from "./words.js";

const PACE = 550; // milliseconds between two moves of others
const TRICK_PACE = 1000; // and after a full trick
const PREFERENCES = "playroom-preferences";
const prefs = { language: "", motion: !matchMedia("(prefers-reduced-motion: reduce)").matches, colours: 4, ...kept() };

const state = { welcome: null, about: null, table: null, view: null, done: null, hint: null, result: null, replay: null, analysis: null, score: null, adviser: null, chosenAdviser: null, asking: false, deal: 0, practice: false, quiet: false, wide: true, preparing: false };
let waitingViews = [];
let pacing = 0;
let sat = false;

function kept() {
  try {
    return JSON.parse(localStorage.getItem(PREFERENCES)) ?? {};
  } catch {
    return {};
  }
}

function prefer(name, value) {
  prefs[name] = value;
  localStorage.setItem(PREFERENCES, JSON.stringify(prefs));
}

// ------------------------------------------------------------------------------------------------ frames

const frames = {
  connected: () => document.body.classList.remove("offline"),
  disconnected: () => {
    document.body.classList.add("offline");
    alarm(t("disconnected"));
  },
  welcome: (frame) => {
    state.welcome = frame;
    byId("alert").replaceChildren();
    if (token()) return;
    const { asked } = frame;
    const entry = frame.menu.find((one) => one.variants.some((variant) => variant.game === asked?.game)) ?? frame.menu[0];
    const variant = entry.variants.find((one) => one.game === asked?.game) ?? entry.variants[0];
    if (!sat && asked?.seats?.length) {
      sat = true;
      choose(entry, variant);
      sit({ game: asked.game, seats: asked.seats, deals: asked.deals, rival: asked.rival });
    } else chooseGame(chosenGame().entry ?? entry, chosenGame().variant ?? variant);
  },
  about: (frame) => {
    if (chosenGame().variant?.game === frame.game) state.about = frame;
    if (!state.table) show();
  },
  session: (frame) => keepToken(frame.token),
  preparing: () => {
    state.preparing = true;
    show();
  },
  table: async (frame) => {
    Object.assign(state, { table: frame, preparing: false, result: null, replay: null, analysis: null, hint: null, view: null, score: null });
    waitingViews = [];
    const names = frame.advisers.map((entry) => entry.name);
    state.adviser = names.includes(state.chosenAdviser) ? state.chosenAdviser : (names[0] ?? null);
    await followGame(frame.game);
    show();
  },
  view: (frame) => {
    waitingViews.push(frame);
    pump();
  },
  result: (frame) => {
    waitingViews.push(frame);
    pump();
  },
  hint: (frame) => {
    state.asking = false;
    if (frame.moves === state.view?.moves) {
      state.hint = frame;
      announce(`${t("hint")}: ${spoken(frame.bars[0].name)}`);
    }
    show();
  },
  analysis: (frame) => {
    state.asking = false;
    state.analysis ??= { decisions: [] };
    state.analysis.decisions.push(...frame.decisions);
    Object.assign(state.analysis, { done: frame.done, of: frame.of, finished: frame.finished, costliest: frame.costliest });
    show();
  },
  replay: (frame) => {
    if (frame.record && !state.table) state.table = { names: frame.names, seat: null, teams: frame.view.teams?.map((team) => team.seats), advisers: [], game: frame.game, title: frame.title, rival: "" };
    state.before ??= { view: state.view, done: state.done };
    state.replay = { ...state.replay, ...frame };
    state.view = frame.view;
    state.done = frame.view.done ?? null;
    show();
  },
  notice: (frame) => alarm(t(`notice_${frame.key}`, { player: playerName(frame.player) })),
  error: (frame) => {
    state.asking = false;
    alarm(frame.text);
    show();
  },
  left: () => {
    keepToken(null);
    Object.assign(state, { table: null, view: null, result: null, replay: null, analysis: null, preparing: false, before: null });
    const { entry, variant } = chosenGame();
    const first = state.welcome.menu[0];
    chooseGame(entry ?? first, variant ?? first.variants[0]);
  },
};

/** Moves of others are shown one after the other, a full trick for a moment longer. */
function pump() {
  if (pacing || !waitingViews.length) return;
  const frame = waitingViews.shift();
  const before = state.view;
  if (frame.type === "result") {
    takeResult(frame);
    pump();
    return;
  }
  const mine = frame.done && frame.done.seat === state.table?.seat;
  const trickDone = before && frame.view.last_trick && JSON.stringify(before.last_trick) !== JSON.stringify(frame.view.last_trick);
  const dealDone = before && JSON.stringify(frame.view.previous ?? null) !== JSON.stringify(before.previous ?? null);
  Object.assign(state, { view: frame.view, done: frame.done, hint: null, asking: false, deal: frame.deal, practice: frame.practice });
  if (!frame.done) Object.assign(state, { result: null, replay: null, analysis: null, before: null });
  tell(frame, trickDone, before);
  show();
  if (dealDone && frame.view.previous) showPrevious(frame.view.previous);
  if (waitingViews.length === 0 && !prefs.motion) return;
  pacing = setTimeout(() => {
    pacing = 0;
    pump();
  }, !prefs.motion ? 0 : !frame.done ? 200 : trickDone ? TRICK_PACE : mine ? 250 : PACE);
}

function takeResult(frame) {
  state.result = frame;
  if (frame.score) state.score = frame.score;
  if (!frame.waiting) announce(resultText(frame));
  show();
  if (!frame.waiting && (document.activeElement === document.body || byId("felt").contains(document.activeElement))) byId("next")?.focus({ preventScroll: true });
}

function resultText(frame) {
  const own = state.table.seat === null ? null : frame.returns[state.table.seat];
  return own === null ? t("deal_over") : `${verdict(lead(frame.returns, state.table))} ${signed(own, 2)}`;
}

/** For those who listen: what was done, who took the trick, whose turn it is. */
function tell(frame, trickDone, before) {
  const { view, done } = frame;
  const parts = [];
  if (done && done.seat !== state.table.seat) parts.push(`${seatName(done.seat, state)}: ${spoken(done.name)}`);
  if (trickDone) parts.push(t("takes_trick", { who: seatName(view.last_trick.winner, state) }));
  if (view.turn === state.table.seat && view.actions.length && before?.turn !== view.turn) parts.push(t("your_turn"));
  if (parts.length) announce(parts.join(". "));
}

function showPrevious(previous) {
  const dialog = el("dialog", { class: "previous", "aria-label": t("deal_over") });
  const facts = Object.fromEntries(previous.facts);
  dialog.append(el("h2", { text: t("deal_over") }));
  if (facts.contract) dialog.append(el("p", { text: `${t("fact_contract")}: ${call(facts.contract)}. ${t(facts.made ? "contract_made" : "contract_failed")}` }), el("p", { text: `${t("fact_attack_points")}: ${facts.attack_points}` }));
  else dialog.append(el("p", { text: t("all_passed") }));
  const sides = previous.teams.length ? previous.teams : previous.seats;
  const own = previous.teams.findIndex((team) => team.seats.includes(state.view.seat ?? 0));
  sides.forEach((side, index) => dialog.append(el("p", { class: "team-score", text: `${index === own ? t("us") : t("them")}: ${number(side.figures.score ?? 0)}` })));
  dialog.append(button(t("go_on"), () => dialog.close(), { class: "main" }));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// ------------------------------------------------------------------------------------------------ what can be done

function play(action, why) {
  if (action === null || action === undefined) {
    alarm(why ?? t("not_your_turn"));
    return;
  }
  send("play", { action, moves: state.view.moves });
}

function sit(settings) {
  state.preparing = true;
  state.score = null;
  send("sit", settings);
  show();
}

function chooseGame(entry, variant) {
  choose(entry, variant);
  state.about = null;
  followGame(variant.game).then(() => {
    send("about", { game: variant.game });
    show();
  });
}

/** The language follows the game until somebody chooses one. */
async function followGame(game) {
  const entry = state.welcome?.menu.find((one) => one.variants.some((variant) => variant.game === game));
  const wanted = prefs.language || new URLSearchParams(location.search).get("language") || entry?.language || "en";
  if (wanted !== language() || !document.documentElement.dataset.ready) await speak(wanted);
  document.documentElement.dataset.ready = "yes";
  fillIn();
}

const actions = {
  game: chooseGame,
  sit,
  record: (text) => send("record", { text }),
  hint: () => {
    if (state.asking || !state.view?.actions.length) return;
    state.asking = send("hint", { adviser: state.adviser });
    show();
  },
  adviser: (name) => {
    state.adviser = state.chosenAdviser = name;
    state.hint = null;
    show();
  },
  next: () => send("next"),
  again: () => send("again"),
  replay: (step) => send("replay", { step: Math.max(0, step), ...(state.replay?.record || !state.result ? { record: true } : {}) }),
  closeReplay: () => {
    if (state.replay?.record && !state.result) {
      Object.assign(state, { replay: null, table: null, view: null, before: null });
    } else Object.assign(state, { replay: null, ...state.before, before: null });
    show();
  },
  analyse: () => {
    state.analysis = null;
    state.asking = send("analyse", { adviser: state.adviser });
    show();
  },
  copy: () => navigator.clipboard?.writeText(state.result.record).then(() => announce(t("copied")), () => alarm(state.result.record)),
  leave: () => send("leave"),
};

// ------------------------------------------------------------------------------------------------ the page

function show() {
  if (!document.documentElement.dataset.ready) return;
  const seated = state.table !== null && state.view !== null;
  byId("lobby").hidden = seated || state.preparing || !state.welcome;
  byId("waiting").hidden = !state.preparing;
  byId("room").hidden = !seated || state.preparing;
  byId("leave-button").hidden = !state.table || state.preparing;
  byId("hint-button").hidden = !seated || state.table.seat === null || state.result !== null;
  byId("waiting-text").textContent = t("preparing");
  document.body.classList.toggle("two-colours", prefs.colours === 2);
  document.body.classList.toggle("still", !prefs.motion);
  document.title = state.table ? `${gameTitle()} · CardSpiel` : "CardSpiel";
  byId("title").textContent = state.table ? gameTitle() : "CardSpiel";
  byId("subtitle").textContent = state.table && !state.replay?.record ? dealText() : "";
  if (!byId("lobby").hidden) drawLobby(byId("lobby"), state, actions);
  if (!seated || state.preparing) return;
  state.quiet = !prefs.motion || state.replay !== null;
  state.wide = matchMedia("(min-width: 60rem)").matches;
  draw(byId("felt"), state, play);
  const result = resultNode(state, actions);
  if (result) byId("felt").append(result);
  drawSide(byId("side"), state, actions);
}

function gameTitle() {
  for (const entry of state.welcome?.menu ?? []) for (const variant of entry.variants) if (variant.game === state.table.game && variant.key) return [...new Set([t(`game_${entry.key}`), variantName(variant)])].join(" · ");
  return state.table.title ?? state.table.game;
}

function dealText() {
  const { deals } = state.table;
  const text = deals ? t("deal_of", { deal: state.deal + 1, deals }) : t("deal_number", { deal: state.deal + 1 });
  return state.practice ? `${text} · ${t("practice")}` : text;
}

function settingsDialog() {
  const dialog = byId("settings");
  const pick = el("select", { id: "language", on: { change: async (event) => { prefer("language", event.target.value); await followGame(state.table?.game ?? chosenGame().variant?.game); settingsDialog(); show(); } } });
  pick.append(el("option", { value: "", text: t("follow_game") }));
  for (const [code, name] of Object.entries(LANGUAGES)) pick.append(el("option", { value: code, text: name, lang: code, selected: prefs.language === code ? true : null }));
  const box = (name, text, get, set) => el("label", { class: "tick" }, el("input", { type: "checkbox", id: `pref-${name}`, checked: get() ? true : null, on: { change: (event) => { set(event.target.checked); show(); } } }), el("span", { text }));
  dialog.replaceChildren(
    el("h2", { text: t("settings") }),
    el("label", { class: "field" }, el("span", { text: t("language") }), pick),
    box("motion", t("motion"), () => prefs.motion, (on) => prefer("motion", on)),
    box("colours", t("four_colours"), () => prefs.colours === 4, (on) => prefer("colours", on ? 4 : 2)),
    button(t("close"), () => dialog.close(), { class: "main" }),
  );
  dialog.setAttribute("aria-label", t("settings"));
  if (!dialog.open) dialog.showModal();
}

function keysDialog() {
  const dialog = byId("keys");
  const rows = [["← →", "key_arrows"], ["Enter", "key_enter"], ["h", "key_hint"], ["s", "key_score"], ["l", "key_last"], ["n", "key_next"], ["?", "key_help"]];
  dialog.replaceChildren(
    el("h2", { text: t("keys") }),
    el("dl", { class: "keys" }, ...rows.map(([key, word]) => el("div", {}, el("dt", {}, el("kbd", { text: key })), el("dd", { text: t(word) })))),
    button(t("close"), () => dialog.close(), { class: "main" }),
  );
  dialog.setAttribute("aria-label", t("keys"));
  dialog.showModal();
}

/** The position in words: score, contract, trick, whose turn. */
function speakScore() {
  const { view } = state;
  if (!view) return;
  const parts = [];
  view.teams?.forEach((team) => Object.entries(team.figures).forEach(([key, value]) => parts.push(`${team.seats.includes(view.seat) ? t("us") : t("them")}: ${number(value)} ${t(`figure_${key}`)}`)));
  view.seats.forEach((of, seat) => Object.entries(of.figures ?? {}).forEach(([key, value]) => parts.push(`${seatName(seat, state)}: ${number(value)} ${t(`figure_${key}`)}`)));
  for (const [key, value] of view.facts ?? []) parts.push(`${t(`fact_${key}`)}: ${typeof value === "string" ? spoken(value) : value}`);
  if (view.trick?.length) parts.push(`${t("trick")}: ${view.trick.map(([seat, card]) => `${seatName(seat, state)} ${spoken(card)}`).join(", ")}`);
  if (view.turn !== null && view.turn !== undefined) parts.push(view.turn === state.table.seat ? t("your_turn") : t("turn_of", { who: seatName(view.turn, state) }));
  announce(parts.join(". "));
}

function speakLast() {
  const last = state.view?.last_trick;
  if (last) announce(`${t("last_trick")}: ${last.cards.map(([seat, card]) => `${seatName(seat, state)} ${spoken(card)}`).join(", ")}. ${t("takes_trick", { who: seatName(last.winner, state) })}`);
}

const shortcuts = { h: actions.hint, s: speakScore, l: speakLast, n: () => byId("next")?.click(), "?": keysDialog };
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (document.querySelector("dialog[open]")) return;
  const action = shortcuts[event.key];
  if (action) {
    event.preventDefault();
    action();
  }
});
byId("hint-button").addEventListener("click", actions.hint);
byId("keys-button").addEventListener("click", keysDialog);
byId("settings-button").addEventListener("click", settingsDialog);
byId("leave-button").addEventListener("click", actions.leave);
addEventListener("resize", () => state.view && show());

await speak(prefs.language || new URLSearchParams(location.search).get("language") || "en");
document.documentElement.dataset.ready = "yes";
fillIn();
connect((frame) => frames[frame.type]?.(frame));
