// Making elements. Text always goes in as text: names of players and games come from people.

export function el(tag, options = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, action] of Object.entries(value)) node.addEventListener(event, action);
    else if (name === "data") for (const [key, item] of Object.entries(value)) node.dataset[key] = item;
    else if (name === "vars") for (const [key, item] of Object.entries(value)) node.style.setProperty(`--${key}`, item);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

export function button(text, action, options = {}) {
  return el("button", { type: "button", text, on: { click: action }, ...options });
}

/** Says something to those who listen instead of looking. */
export function announce(text) {
  const live = byId("live");
  live.append(el("p", { text }));
  while (live.childElementCount > 4) live.firstChild.remove();
}

let alertTimer = 0;
export function alarm(text) {
  const box = byId("alert");
  box.replaceChildren(el("p", { text }), button("×", () => box.replaceChildren(), { "aria-label": "×", class: "close" }));
  clearTimeout(alertTimer);
  alertTimer = setTimeout(() => box.replaceChildren(), 9000);
}

/** Arrow keys move between the buttons of a group, of which one is in the tab order. */
export function rove(group) {
  const members = () => [...group.querySelectorAll("button")];
  const enter = (node) => {
    for (const other of members()) other.tabIndex = other === node ? 0 : -1;
  };
  const list = members();
  enter(list.find((node) => node === document.activeElement) ?? list[0]);
  group.onkeydown = (event) => {
    const all = members();
    const at = all.indexOf(document.activeElement);
    if (at < 0) return;
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    let next = null;
    if (event.key in steps) next = all[(at + steps[event.key] + all.length) % all.length];
    if (event.key === "Home") next = all[0];
    if (event.key === "End") next = all.at(-1);
    if (next) {
      event.preventDefault();
      enter(next);
      next.focus();
    }
  };
  group.onfocusin = (event) => {
    if (event.target.tagName === "BUTTON") enter(event.target);
  };
}
