// Beside the table: what everybody knows, the calls so far, hints, the result, the analysis.

import { suitClass } from "./cards.js";
import { button, el } from "./dom.js";
import { callNode, playerName, seatName } from "./felt.js";
import { number, signed, spoken, t, written } from "./words.js";

function fact(key, value) {
  const shown = key === "contract" ? callNode(value) : document.createTextNode(factText(key, value));
  return el("div", { class: `fact ${key}` }, el("dt", { text: t(`fact_${key}`) }), el("dd", {}, shown));
}

function factText(key, value) {
  if (key === "doubled") return t(`level_words_${value}`);
  if (key === "subgame") return t(`cego_${value}`);
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  return typeof value === "number" ? number(value) : written(String(value));
}

export function factsNode(state) {
  const { view, table } = state;
  const node = el("section", { class: "facts panel", "aria-label": t("score") });
  const own = table.teams?.findIndex((team) => team.includes(view.seat ?? 0));
  if (view.teams?.length) {
    const rows = el("div", { class: "teams" });
    view.teams.forEach((team, index) => {
      const figures = Object.entries(team.figures);
      if (!figures.length) return;
      const name = table.seat === null ? team.seats.map((seat) => seat + 1).join(" + ") : index === own ? t("us") : t("them");
      rows.append(el("div", { class: `team${index === own ? " ours" : ""}` }, el("h3", { text: name }), ...figures.map(([key, value]) => el("p", { class: `figure ${key}` }, `${t(`figure_${key}`)} `, el("b", { text: number(value) })))));
    });
    if (rows.childElementCount) node.append(rows);
  }
  const facts = view.facts ?? [];
  if (facts.length) node.append(el("dl", {}, ...facts.map(([key, value]) => fact(key, value))));
  return node.childElementCount ? node : null;
}

export function callsNode(state) {
  const { view } = state;
  if (!view.calls?.length) return null;
  const list = el("ol", { class: "calls" });
  for (const [seat, name] of view.calls) list.append(el("li", {}, el("span", { class: "who", text: seatName(seat, state) }), callNode(name)));
  return el("details", { class: "panel", open: state.wide ? true : null }, el("summary", { text: t("calls") }), list);
}

function adviserName(entry) {
  const name = typeof entry === "string" ? entry : entry.name;
  if (name === "equilibrium") return t("equilibrium");
  const search = /^(\w+)\(worlds=(\d+)(?:,rollout=(\w+))?\)$/.exec(name);
  const base = /^(monte_carlo|rollouts)$/.test(search?.[1]) ? "Monte Carlo" : playerName(search?.[1] ?? "");
  if (search) return `${base} × ${search[2]}${search[3] ? ` (${search[3]})` : ""}`;
  return playerName(name.split("/").at(-1));
}

export function barsNode(advice, played) {
  const list = el("ul", { class: `bars ${advice.kind}` });
  const untried = advice.bars.filter((bar) => bar.untried);
  const values = advice.bars.filter((bar) => !bar.untried).map((bar) => bar.value ?? 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  for (const bar of advice.bars) {
    if (bar.untried) continue;
    let share = 1;
    let text = "";
    if (advice.kind === "probabilities") {
      share = bar.probability;
      text = `${number(100 * bar.probability, 1)} %`;
    } else if (advice.kind === "values") {
      const span = Math.max(high - low, 0.02 * Math.max(Math.abs(low), Math.abs(high))); // next to nothing looks like it
      share = span > 0 ? 0.06 + 0.94 * (1 - (high - bar.value) / span) : 1;
      const digits = Math.max(Math.abs(low), Math.abs(high)) >= 10 ? 0 : 2;
      text = number(bar.value, digits) + (bar.error ? ` ± ${number(1.96 * bar.error, digits)}` : "");
    }
    const row = el("li", { class: bar.action === played ? "chosen" : null });
    row.append(
      el("span", { class: `bar-name ${suitClass(written(bar.name).at(-1))}`, text: written(bar.name), "aria-label": spoken(bar.name), role: "img" }),
      el("span", { class: "bar" }, el("span", { class: "fill", vars: { share } })),
      el("span", { class: "bar-value", text }),
      el("span", { class: "close-call", text: bar.close ? "≈" : "", title: bar.close ? t("too_close") : null }),
    );
    list.append(row);
  }
  if (untried.length) {
    const played_ = untried.find((bar) => bar.action === played);
    const names = played_ ? [played_, ...untried.filter((bar) => bar !== played_)] : untried;
    const shown = names.slice(0, 4).map((bar) => written(bar.name)).join(", ") + (names.length > 4 ? " …" : "");
    list.append(el("li", { class: "untried small", text: t("hint_untried", { names: shown }) }));
  }
  return list;
}

export function hintNode(state, actions) {
  const node = el("section", { class: "hint panel", "aria-label": t("hint") });
  const choose = el("select", { id: "adviser", "aria-label": t("adviser"), on: { change: (event) => actions.adviser(event.target.value) } });
  for (const entry of state.table.advisers) choose.append(el("option", { value: entry.name, text: adviserName(entry), selected: entry.name === state.adviser ? true : null }));
  const asking = state.asking;
  node.append(el("div", { class: "hint-head" }, el("h2", { text: t("hint") }), choose));
  const mine = state.view.actions.length > 1;
  if (!state.result && !state.replay) node.append(button(asking ? t("thinking") : t("ask_hint"), actions.hint, { class: "ask", "aria-disabled": mine && !asking ? null : "true" }));
  if (state.hint) {
    const { hint } = state;
    const sure = hint.kind !== "values" || hint.bars.length < 2 || hint.bars.some((bar) => bar.error !== undefined);
    const words = sure ? t(`hint_${hint.kind}`) : t("hint_estimate");
    const exact = hint.exploitability !== undefined ? `. ${t("hint_exact", { number: hint.exploitability < 1e-4 ? "0.0001" : number(hint.exploitability, 4) })}` : "";
    node.append(el("p", { class: "small", text: `${adviserName(hint.adviser)}: ${words}${exact}` }), barsNode(hint));
    if (hint.bars[0].close) node.append(el("p", { class: "small", text: `≈ ${t("too_close")}` }));
  }
  return node;
}

export function scoreNode(score, rival) {
  if (!score) return null;
  const node = el("section", { class: "score panel", "aria-label": t("your_score") });
  node.append(el("h2", { text: t("your_score") }), el("p", { text: t("score_sum", { deals: score.deals, sum: signed(score.sum) }) }));
  if (score.difference !== undefined) {
    const interval = score.low === undefined ? "" : ` (${t("interval")}: ${signed(score.low)} … ${signed(score.high)})`;
    node.append(el("p", { class: "difference", text: t("score_difference", { number: signed(score.difference), rival: playerName(rival), deals: score.duplicates }) + interval }));
  }
  return node;
}

/** How far ahead of the other side the person is: in some games everybody's result is a number of points taken. */
export function lead(returns, table) {
  const side = table.teams?.find((team) => team.includes(table.seat)) ?? [table.seat];
  const others = returns.filter((_, seat) => !side.includes(seat));
  const mean = others.reduce((sum, value) => sum + value, 0) / Math.max(others.length, 1);
  return returns[table.seat] - mean || returns[table.seat];
}

export const verdict = (ahead) => t(ahead > 0 ? "you_won" : ahead < 0 ? "you_lost" : "drawn");

export function resultNode(state, actions) {
  const { result, table } = state;
  if (!result || state.replay) return null;
  const own = table.seat === null ? null : result.returns[table.seat];
  const ahead = own === null ? 0 : lead(result.returns, table);
  const node = el("section", { class: `result ${ahead > 0 ? "won" : ahead < 0 ? "lost" : ""}`, id: "result", tabindex: "-1", "aria-label": t("result") });
  const title = own === null ? t("deal_over") : verdict(ahead);
  node.append(el("h2", { text: result.practice ? `${title} (${t("practice")})` : title }));
  const made = state.view.facts?.find(([key]) => key === "made");
  if (made) node.append(el("p", { text: t(made[1] ? "contract_made" : "contract_failed") }));
  const list = el("ul", { class: "returns" });
  result.returns.forEach((value, seat) => list.append(el("li", {}, el("span", { text: seatName(seat, state) }), el("b", { text: signed(value, 2) }))));
  node.append(list);
  if (result.waiting) {
    node.append(el("p", { role: "status", text: t("other_table_plays") }));
    return node;
  }
  if (result.difference !== undefined)
    node.append(el("p", { class: "difference", text: t("result_rival", { rival: playerName(table.rival), own: signed(own, 2), other: signed(result.rival[table.seat], 2), difference: signed(result.difference, 2) }) }));
  const row = el("div", { class: "buttons" });
  if (!result.last) row.append(button(t("next_deal"), actions.next, { id: "next", class: "main" }));
  row.append(
    button(t("again"), actions.again, { id: "again" }),
    button(t("look_again"), () => actions.replay(0), { id: "replay" }),
    button(t("analyse"), actions.analyse, { id: "analyse" }),
    button(t("copy_record"), actions.copy, { id: "copy" }),
  );
  if (result.last) row.append(button(t("new_table"), actions.leave, { class: "main" }));
  node.append(row);
  return node;
}

export function replayNode(state, actions) {
  const { replay } = state;
  if (!replay) return null;
  const node = el("section", { class: "replay panel", "aria-label": t("look_again") });
  const done = state.view.done;
  node.append(el("p", { class: "step", role: "status", text: `${t("step", { step: replay.step, steps: replay.steps })}${done ? ` · ${seatName(done.seat, state)}: ${written(done.name)}` : ""}` }));
  const to = (step) => () => actions.replay(step);
  node.append(
    el(
      "div",
      { class: "buttons" },
      button("«", to(0), { "aria-label": t("first_step") }),
      button("◀", to(replay.step - 1), { "aria-label": t("step_back"), id: "step-back" }),
      button("▶", to(replay.step + 1), { "aria-label": t("step_on"), id: "step-on" }),
      button("»", to(replay.steps), { "aria-label": t("last_step") }),
      button(t("close"), actions.closeReplay, { id: "close-replay" }),
    ),
    el("input", { type: "range", min: 0, max: replay.steps, value: replay.step, "aria-label": t("position"), on: { input: (event) => actions.replay(Number(event.target.value)) } }),
  );
  return node;
}

export function analysisNode(state, actions) {
  const { analysis } = state;
  if (!analysis) return null;
  const node = el("section", { class: "analysis panel", "aria-label": t("analysis") });
  node.append(el("h2", { text: t("analysis") }));
  if (!analysis.finished) node.append(el("p", { role: "status", text: t("analysis_progress", { done: analysis.done, of: analysis.of }) }));
  for (const decision of analysis.decisions) {
    const costly = decision.step === analysis.costliest;
    const cost = decision.cost === null ? "" : decision.kind === "values" ? (decision.cost > 0 ? `−${number(decision.cost, 1)}` : "✓") : `${number(100 * (decision.bars.find((bar) => bar.action === decision.action)?.probability ?? 0), 0)} %`;
    const open = decision.open_cards ? t("open_cards", decision.open_cards) : "";
    const item = el("details", { class: costly ? "costliest" : null });
    item.append(
      el("summary", {}, el("b", { text: written(decision.name) }), ` ${cost} `, costly ? el("span", { class: "tag", text: `! ${t("costliest")}` }) : ""),
      el("p", { class: "small", text: `${adviserName(decision.adviser)}${open ? ` · ${open}` : ""}` }),
      barsNode(decision, decision.action),
      button(t("show_position"), () => actions.replay(decision.step)),
    );
    node.append(item);
  }
  if (analysis.finished && analysis.decisions.some((decision) => decision.open_cards)) node.append(el("p", { class: "small", text: t("open_cards_note") }));
  return node;
}

/** Draws the side; opened details stay open. */
export function drawSide(side, state, actions) {
  const open = new Set([...side.querySelectorAll("details[open] summary")].map((node) => node.textContent));
  const focused = side.contains(document.activeElement) ? document.activeElement.id : null;
  const parts = [factsNode(state), state.replay ? replayNode(state, actions) : null, analysisNode(state, actions)];
  if (state.table.seat !== null && !state.replay && state.view.kind) parts.push(hintNode(state, actions));
  parts.push(callsNode(state), scoreNode(state.score, state.table.rival));
  side.replaceChildren(...parts.filter(Boolean));
  for (const node of side.querySelectorAll("details summary")) if (open.has(node.textContent)) node.parentNode.open = true;
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

