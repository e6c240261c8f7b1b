// The connection: opens again by itself, and takes up the table where it was. The token stays in this tab.

const KEY = "playroom-session";
let socket = null;
let listener = () => {};
let wait = 250;

export const token = () => sessionStorage.getItem(KEY);
export const keepToken = (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY));

export function connect(onFrame) {
  listener = onFrame;
  open();
}

function open() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const asked = new URLSearchParams(location.search).get("token");
  const query = asked ? `?token=${encodeURIComponent(asked)}` : "";
  socket = new WebSocket(`${scheme}://${location.host}${location.pathname.replace(/[^/]*$/, "")}table${query}`);
  socket.onopen = () => {
    wait = 250;
    listener({ type: "connected" });
    const kept = token();
    send("hello", kept ? { session: kept } : {});
  };
  socket.onmessage = (event) => listener(JSON.parse(event.data));
  socket.onclose = () => {
    listener({ type: "disconnected" });
    setTimeout(open, wait);
    wait = Math.min(2 * wait, 5000);
  };
}

export function send(type, values = {}) {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify({ type, ...values }));
  return true;
}
