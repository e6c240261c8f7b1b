// Choosing: a game and its variant, who sits where, how many deals, and whether somebody plays the same cards.

import { face } from "./cards.js";
import { button, byId, el } from "./dom.js";
import { playerName } from "./felt.js";
import { known, t } from "./words.js";

const PICTURES = {
  coinche: ["J♠", "9♠", "A♠"],
  toepen: ["10♥", "9♣", "7♦"],
  cego: ["K♥", "T21", "Gstieß"],
  gongzhu: ["Q♠", "J♦", "10♣"],
  kuhn_collab: ["A♥", "K♠", "Q♥"],
  others: ["2♣", "5♦", "7♥"],
  command_line: ["3♠", "4♥", "5♣"],
};
const DEALS = [0, 4, 8, 16, 32];

let chosen = { entry: null, variant: null };

export const variantName = (variant) => (variant.key && known(variant.key) ? t(variant.key) : variant.game);

function select(label, options, value, id) {
  const node = el("select", { id });
  for (const [key, text] of options) node.append(el("option", { value: key, text, selected: key === value ? true : null }));
  return el("label", { class: "field" }, el("span", { text: label }), node);
}

function playerOptions(about, extra, levels) {
  const named = levels.map((level) => [level, `${t(`level_${level}`)} (${about.strengths[level]})`]);
  const others = about.players.filter((name) => !Object.values(about.strengths).includes(name)).map((name) => [name, name]);
  return [...named, ...others, ...extra.map((name) => [name, name.split("/").at(-1)])];
}

function form(state, actions) {
  const { about, welcome } = state;
  if (!about) return el("p", { role: "status", text: t("thinking") });
  const asked = welcome.asked?.game === about.game ? welcome.asked : null;
  const seats = el("fieldset", { class: "chairs" }, el("legend", { text: t("who_sits") }));
  const options = playerOptions(about, welcome.players, welcome.levels);
  const mine = about.seats > 2 && about.teams.length === 2 && about.teams[0].length === about.teams[1].length ? 2 : 0;
  for (let seat = 0; seat < about.seats; seat++) {
    const value = asked?.seats?.[seat] ?? (seat === mine ? "me" : "medium");
    const all = [["me", t("me")], ...options];
    if (!all.some(([key]) => key === value)) all.push([value, value]);
    const team = about.teams.findIndex((members) => members.includes(seat));
    const label = `${t("seat")} ${seat + 1}${team >= 0 && about.teams.length === 2 ? ` · ${t("team")} ${"AB"[team]}` : ""}`;
    seats.append(select(label, all, value, `seat-${seat}`));
  }
  const rivals = [["", t("nobody")], ...options];
  const deals = DEALS.map((number) => [String(number), number ? String(number) : t("no_end")]);
  const wanted = String(asked?.deals ?? 0);
  if (!deals.some(([key]) => key === wanted)) deals.push([wanted, wanted]);
  const sit = () => {
    const names = [...Array(about.seats).keys()].map((seat) => byId(`seat-${seat}`).value);
    actions.sit({ game: about.game, seats: names, deals: Number(byId("deals").value), rival: byId("rival").value });
  };
  return el(
    "form",
    { class: "setup", on: { submit: (event) => { event.preventDefault(); sit(); } } },
    el("h2", { text: chosen.entry.key === "others" || chosen.entry.key === "command_line" ? variantName(chosen.variant) : `${t(`game_${chosen.entry.key}`)} · ${variantName(chosen.variant)}` }),
    seats,
    el("div", { class: "row" }, select(t("deals"), deals, wanted, "deals"), select(t("rival"), rivals, asked?.rival ?? "", "rival")),
    el("p", { class: "small", text: t("rival_note") }),
    el("button", { type: "submit", class: "main", id: "sit", text: t("sit_down") }),
  );
}

export function drawLobby(lobby, state, actions) {
  const { welcome } = state;
  const tiles = el("div", { class: "tiles" });
  for (const entry of welcome.menu) {
    const here = chosen.entry?.key === entry.key;
    const picture = el("span", { class: "picture", "aria-hidden": "true" }, ...PICTURES[entry.key].map((card) => el("span", {}, face(card))));
    tiles.append(
      el("button", { type: "button", class: `tile${here ? " chosen" : ""}`, id: `game-${entry.key}`, "aria-pressed": String(here), on: { click: () => actions.game(entry, entry.variants[0]) } }, picture, el("span", { class: "tile-name", text: t(`game_${entry.key}`) })),
    );
  }
  const body = el("div", { class: "choice" });
  if (chosen.entry) {
    if (chosen.entry.variants.length > 1) {
      const list = el("div", { class: "variants", role: "group", "aria-label": t("variants") });
      for (const variant of chosen.entry.variants)
        list.append(button(variantName(variant), () => actions.game(chosen.entry, variant), { "aria-pressed": String(variant.game === chosen.variant.game), class: "variant", "data-game": variant.game }));
      body.append(list);
    }
    body.append(form(state, actions));
  }
  const paste = el("textarea", { id: "record", rows: 3, "aria-label": t("paste_record"), placeholder: t("paste_record") });
  const open = el("details", { class: "panel" }, el("summary", { text: t("open_record") }), paste, button(t("open"), () => actions.record(paste.value), { id: "open-record" }));
  lobby.replaceChildren(el("p", { class: "welcome", text: t("welcome") }), tiles, body, open);
}

export function choose(entry, variant) {
  chosen = { entry, variant };
}

export const chosenGame = () => chosen;
export { playerName };
