"use strict";
// The table of all questions, and the page for one of them. Texts of others get in by textContent only.
(() => {
  const app = document.getElementById("questions-app");
  const source = document.getElementById("questions-data");
  if (!app || !source) return;
  const data = JSON.parse(source.textContent);
  const WAYS = [
    ["broken", "right before"],
    ["fixed", "wrong before"],
    ["moved", "wrong otherwise"],
  ];
  const [SUITE, QID, LABEL, STAGE, CAUSE, WAY, SLICES, PROFILE, SHEET, QUESTION, CLAIM] = Array(11).keys();
  const OVER = 6; // rows drawn beyond those in view
  const ALL = 150; // so few rows are all drawn: the browser's own search finds them

  // --- building the page

  const STEERING =
    /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  // el("p.muted", { dir: "auto" }, inside…): the attributes may be left out, and what is null inside, too.
  const el = (what, ...inside) => {
    const [name, ...css] = what.split(".");
    const made = document.createElement(name);
    if (css.length) made.className = css.join(" ");
    const given = inside[0]?.constructor === Object ? inside.shift() : {};
    for (const [key, value] of Object.entries(given)) {
      if (key === "onclick") made.addEventListener("click", value);
      else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...inside.flat(Infinity).filter((one) => one || one === 0));
    return made;
  };
  // A text of somebody else: signs that steer are shown as what they are.
  const safe = (text) => {
    const parts = [];
    let last = 0;
    for (const found of text.matchAll(STEERING)) {
      const code = found[0].charCodeAt(0).toString(16);
      const sign = code.length > 2 ? "\\u" + code.padStart(4, "0") : "\\x" + code.padStart(2, "0");
      parts.push(text.slice(last, found.index), el("span.ctl", sign));
      last = found.index + found[0].length;
    }
    return parts.length ? [...parts, text.slice(last)] : [text];
  };
  const plain = (told) => (Array.isArray(told) ? told[0] : told || "");
  const count = (number) => number.toLocaleString("en");
  const more = (lost) => (lost ? el("span.q-more", ` … ${count(lost)} more characters`) : null);
  const text = (told, name = "div", css = "text") =>
    el(`${name}.${css}`, { dir: "auto" }, safe(plain(told)), more(Array.isArray(told) && told[1]));
  const id = (name) => el("bdi.id", safe(name));
  const chip = (row, linked) => {
    const label = data.labels[row[LABEL]];
    return label === undefined ? "–" : el(`span.chip.${rank(row) ? "fail" : "pass"}`, linked ? word(label, data.anchors.labels[row[LABEL]]) : safe(label));
  };

  // What the page explains leads there.
  const word = (said, anchor) =>
    document.getElementById(`def-${anchor}`) ? el("a.term", { href: `#def-${anchor}` }, safe(said)) : safe(said);

  // --- what is known of a question

  const rank = (row) => (row[LABEL] < 0 ? 0 : data.ranks[row[LABEL]]);
  const sheetOf = (row) => (row[SHEET] < 0 ? null : data.sheets[row[SHEET]]);
  const questionOf = (row) => {
    const sheet = sheetOf(row);
    return sheet ? plain(sheet.question) : row[QUESTION] || "";
  };
  const claimOf = (row) => {
    const sheet = sheetOf(row);
    return sheet ? (sheet.claim || []).join("") || plain(sheet.error) : row[CLAIM] || "";
  };
  const whereOf = (row) => [data.stages[row[STAGE]], data.causes[row[CAUSE]]].filter(Boolean).join(": ");
  const keyOf = (row) => `${data.suites[row[SUITE]]}/${row[QID]}`;
  const rows = data.rows;
  const places = new Map();
  rows.forEach((row, nth) => {
    for (const key of [keyOf(row), row[QID]]) if (!places.has(key)) places.set(key, nth);
  });
  const haystack = rows.map((row) =>
    [row[QID], questionOf(row), claimOf(row), data.labels[row[LABEL]] || "", whereOf(row)]
      .join("\n")
      .normalize("NFC")
      .toLowerCase(),
  );

  // --- filters: each has a name in the address, a title, and what it takes of a row

  const fields = [];
  const fieldNames = new Set(data.slices.map((one) => one.split("=")[0]));
  const values = (list) => list.map((value, nth) => [String(nth), value]);
  const facet = (name, title, options, of) => {
    const counts = new Map();
    for (const row of rows) for (const value of of(row)) counts.set(value, (counts.get(value) || 0) + 1);
    const kept = options.filter(([value]) => counts.get(value));
    if (kept.length > 1 || (kept.length === 1 && counts.get(kept[0][0]) < rows.length))
      fields.push({ name, title, options: kept, of, counts });
  };
  const one = (nth) => (row) => (row[nth] < 0 ? [] : [String(row[nth])]);
  const several = app.dataset.several === "1";
  if (several) facet("suite", "Suite", values(data.suites), one(SUITE));
  facet("is", "Result", [["wrong", "wrong"], ["fine", "as it should be"]], (row) => [rank(row) ? "wrong" : "fine"]);
  facet("label", "Label", values(data.labels), one(LABEL));
  facet("stage", "Stage", values(data.stages), one(STAGE));
  facet("cause", "Cause", values(data.causes), one(CAUSE));
  facet("changed", "Against the baseline", WAYS.map(([name], nth) => [String(nth), name]), one(WAY));
  for (const field of fieldNames) {
    const options = values(data.slices).filter(([, value]) => value.startsWith(`${field}=`));
    const told = options.map(([nth, value]) => [nth, value.slice(field.length + 1)]);
    const ours = new Set(options.map(([nth]) => nth));
    facet(`slice.${field}`, field, told, (row) => row[SLICES].map(String).filter((nth) => ours.has(nth)));
  }

  // --- orders: worst first unless something else is asked for

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const lost = (value) => (value < 0 ? Infinity : value);
  const orders = {
    worst: (a, b) => rank(rows[b]) - rank(rows[a]) || lost(rows[a][WAY]) - lost(rows[b][WAY]),
    id: (a, b) => compare(rows[a][QID], rows[b][QID]),
    where: (a, b) => compare(whereOf(rows[a]) || "\uffff", whereOf(rows[b]) || "\uffff"),
    changed: (a, b) => lost(rows[a][WAY]) - lost(rows[b][WAY]),
  };
  const sorted = new Map();
  const orderOf = (name) => {
    if (!sorted.has(name)) {
      const order = rows.map((_, nth) => nth);
      const by = orders[name];
      sorted.set(name, order.sort((a, b) => by(a, b) || a - b));
    }
    return sorted.get(name);
  };

  // --- the state, and the address of the page that says it

  const fresh = () => ({ q: null, find: "", sort: "worst", down: false, chosen: {} });
  let state = fresh();
  let shown = []; // rows that match, in their order
  let active = 0; // the row that the keyboard is on
  const read = () => {
    const told = location.hash.slice(1);
    const found = fresh();
    const given = new URLSearchParams(told);
    const q = given.get("q");
    if (q !== null && places.has(q)) found.q = places.get(q);
    else if (q !== null) found.unknown = q;
    found.find = given.get("find") || "";
    const sort = given.get("sort") || "worst";
    found.sort = Object.hasOwn(orders, sort.replace(/^-/, "")) ? sort.replace(/^-/, "") : "worst";
    found.down = sort.startsWith("-");
    for (const field of fields) {
      const value = given.get(field.name);
      const option = field.options.find(([, name]) => name === value);
      if (option) found.chosen[field.name] = option[0];
    }
    return found;
  };
  const address = (of, q = of.q) => {
    const told = new URLSearchParams();
    if (q !== null) told.set("q", keyOf(rows[q]));
    if (of.find) told.set("find", of.find);
    for (const field of fields) {
      const value = of.chosen[field.name];
      if (value !== undefined) told.set(field.name, field.options.find(([nth]) => nth === value)[1]);
    }
    if (of.sort !== "worst" || of.down) told.set("sort", (of.down ? "-" : "") + of.sort);
    return "#" + (told.toString() || "questions");
  };
  const remember = (push) => {
    try {
      if (push) history.pushState(null, "", address(state));
      else history.replaceState(null, "", address(state));
    } catch {
      // Viewers that show the page in a frame may forbid it: then only links to questions are lost.
    }
  };

  // --- the list

  const part = (css) => app.querySelector(css);
  const [search, status, note, body, head] = ["input", "[role=status]", ".q-note", "tbody", "thead tr"].map(part);
  const [table, pane, list, detail, clear] = ["table", ".q-window", ".q-list", ".q-detail", ".q-clear"].map(part);
  for (const th of head.children) th.firstElementChild.addEventListener("click", () => sortBy(th.dataset.sort));
  const selects = fields.map((field) => {
    const options = field.options.map(([value, name]) =>
      el("option", { value }, ...safe(name.slice(0, 80)).map((part) => part.textContent ?? part),
        ` (${count(field.counts.get(value))})`));
    const select = el("select", el("option", { value: "" }, "all"), options);
    select.addEventListener("change", () => {
      if (select.value === "") delete state.chosen[field.name];
      else state.chosen[field.name] = select.value;
      refresh();
    });
    return [field, select, el("label", safe(field.title), select)];
  });
  clear.before(...selects.map(([, , label]) => label));
  const reset = () => {
    state = { ...fresh(), sort: state.sort, down: state.down };
    refresh();
    search.focus();
  };
  clear.addEventListener("click", reset);

  const matching = () => {
    const words = state.find.normalize("NFC").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = fields.filter((field) => state.chosen[field.name] !== undefined);
    const found = orderOf(state.sort).filter((nth) =>
      wanted.every((field) => field.of(rows[nth]).includes(state.chosen[field.name])) &&
      words.every((word) => haystack[nth].includes(word)));
    return state.down ? found.reverse() : found;
  };
  const marked = (said) => {
    const words = state.find.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    if (!words.length) return safe(said);
    const parts = said.split(new RegExp(`(${words.join("|")})`, "i"));
    return parts.map((part, nth) => (nth % 2 ? el("mark", safe(part)) : safe(part)));
  };
  // What a line of the table could show of a text, and no half of a character.
  const start = (said) => said.slice(0, 300).replace(/[\ud800-\udbff]$/, "");
  const line = (nth) => {
    const row = rows[shown[nth]];
    const way = WAYS[row[WAY]];
    const claim = start(claimOf(row));
    const link = el("a", { href: address(state, shown[nth]), tabindex: nth === active ? "0" : "-1" },
      el("span.line", el("bdi.id", marked(start(row[QID]))), several ? el("span.suite", data.suites[row[SUITE]]) : null,
        el("span.say", { dir: "auto" }, marked(start(questionOf(row))))),
      claim ? el("span.line.sub", el("span.say", { dir: "auto" }, marked(claim))) : null);
    const where = [data.stages[row[STAGE]], data.causes[row[CAUSE]]].map((said) => said && el("span", safe(said)));
    return el("tr.q-row", { "aria-rowindex": nth + 2, "data-nth": nth }, el("th", { scope: "row" }, link),
      el("td", chip(row)), el("td.where", where),
      data.compared ? el("td.where", { title: way && way[1] }, way && way[0]) : null);
  };
  let height = 0;
  let drawn = [0, 0];
  const space = (size) => {
    const row = el("tr.q-space", { "aria-hidden": "true" });
    row.style.height = `${size}px`;
    return row;
  };
  // Draws the rows in view; of the others there is only their height.
  const draw = (force) => {
    if (!shown.length) {
      const again = el("button", { type: "button", onclick: reset }, "Clear search and filters");
      body.replaceChildren(el("tr", el("td.q-none", { colspan: "4" }, "No question matches.", again)));
      drawn = [0, 0];
      return;
    }
    if (!height) {
      body.replaceChildren(line(0));
      height = body.firstChild.getBoundingClientRect().height || 56;
      force = true;
    }
    const all = shown.length <= ALL;
    const first = all ? 0 : Math.max(0, Math.floor(pane.scrollTop / height) - OVER);
    const room = Math.ceil((pane.clientHeight || 700) / height) + 2 * OVER;
    const last = all ? shown.length : Math.min(shown.length, first + room);
    if (!force && first === drawn[0] && last === drawn[1]) return;
    const held = body.contains(document.activeElement);
    drawn = [first, last];
    const made = [];
    if (first) made.push(space(first * height));
    for (let nth = first; nth < last; nth += 1) made.push(line(nth));
    if (last < shown.length) made.push(space((shown.length - last) * height));
    body.replaceChildren(...made);
    if (held) linkAt(active)?.focus({ preventScroll: true });
  };
  const linkAt = (nth) => body.querySelector(`tr[data-nth="${nth}"] a`);
  const move = (to) => {
    if (!shown.length) return;
    active = Math.max(0, Math.min(shown.length - 1, to));
    const top = active * height;
    const room = pane.clientHeight - head.getBoundingClientRect().height;
    if (top < pane.scrollTop) pane.scrollTop = top;
    else if (top + height > pane.scrollTop + room) pane.scrollTop = top + height - room;
    draw(true);
    linkAt(active)?.focus({ preventScroll: true });
  };
  // Everything of the list follows from the state.
  const refresh = (keep = false) => {
    shown = matching();
    if (!keep) {
      active = 0;
      pane.scrollTop = 0;
      remember(false);
    }
    if (search.value !== state.find) search.value = state.find;
    for (const [field, select] of selects) {
      select.value = state.chosen[field.name] ?? "";
      select.classList.toggle("set", select.value !== "");
    }
    for (const th of head.children) {
      if (th.dataset.sort !== state.sort) th.removeAttribute("aria-sort");
      else th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      const sign = th.dataset.sort === state.sort ? (state.down ? " ↓" : " ↑") : "";
      th.firstElementChild.lastElementChild.textContent = sign;
    }
    clear.hidden = !state.find && !Object.keys(state.chosen).length;
    table.setAttribute("aria-rowcount", shown.length + 1);
    const wrong = shown.reduce((sum, nth) => sum + (rank(rows[nth]) > 0), 0);
    const of = shown.length === rows.length ? "" : ` of ${count(rows.length)}`;
    status.replaceChildren(el("b", count(shown.length)), `${of} questions, ${count(wrong)} wrong`);
    note.replaceChildren(...(state.unknown ? ["There is no question ", ...safe(start(state.unknown)), " here."] : []));
    draw(true);
  };
  const sortBy = (name) => {
    state.down = state.sort === name ? !state.down : false;
    state.sort = name;
    refresh();
  };

  // --- the page for one question

  const there = (inside) => inside.flat(Infinity).filter(Boolean);
  const block = (title, ...inside) => (there(inside).length ? [el("h4", title), inside] : []);
  const fact = (name, ...inside) => (there(inside).length ? el("div", el("dt", name), el("dd", inside)) : null);
  const claimed = (sheet) => {
    if (sheet.error) return [];
    if (!sheet.claim) return sheet.answered ? [el("i.muted", "an empty text")] : [];
    const pieces = sheet.claim.map((piece, nth) => (nth % 2 ? el("mark", safe(piece)) : safe(piece)));
    return [el("div.text", { dir: "auto" }, pieces, more(sheet.claim_more))];
  };
  const before = (row) => {
    const [label, claim] = data.before[rows.indexOf(row)] || [];
    return label && fact("in the baseline", el("p", safe(label)), plain(claim) ? text(claim) : null);
  };
  const facts = (row, sheet) => {
    if (!sheet) return [fact("answered", row[CLAIM] ? text(row[CLAIM]) : null), before(row)];
    const ranks = new Map((sheet.p || []).map(([name, nth]) => [data.ids[name], nth]));
    const gold = (sheet.gold || []).map((name) =>
      el("p", id(name), " ", el("span.muted", ranks.get(name) ? `rank ${ranks.get(name)}` : "not retrieved")));
    const marks = (sheet.claim || []).length > 1 ? el("p.q-more", "Marked: what the gold set asks for.") : null;
    return [
      fact("expected", sheet.refusal ? el("span", "a refusal: the gold set says that there is no answer") : null,
        sheet.expected ? text(sheet.expected) : null),
      fact("evidence", (sheet.evidence || []).map((one) => text(one))),
      fact("answered", claimed(sheet), marks),
      before(row),
      fact("error", sheet.error ? text(sheet.error) : null),
      fact("lacks", (sheet.lacks || []).map((one) => text(one))),
      fact("cites", (sheet.cites || []).map((name) => el("p", id(name)))),
      fact("gold", gold),
      fact("remarks", (sheet.remarks || []).map((one) => text(one))),
    ];
  };
  const passage = ([name, nth, flags, place], sheet) => {
    const gold = flags & 1;
    const marks = [
      gold ? el("span.chip.pass", "gold") : null,
      flags & 2 ? el("span.chip", "cited") : null,
      nth ? null : el(`span.chip.${gold ? "fail" : "muted"}`, "not retrieved"),
    ];
    const said = place < 0 ? null : data.texts[place];
    return el(`li.${gold ? (nth ? "gold" : "lost") : ""}`,
      el("p.head", el("span.rank", nth ? `${nth}.` : "–"), id(data.ids[name]), marks),
      said !== null ? text(said, "p") : null,
      place < 0 && sheet.left_out ? el("p.q-more", "No room for this text here.") : null);
  };
  const grid = (header, body) =>
    el("div.scroll", { tabindex: "0" }, el("table",
      el("thead", el("tr", header.map((name) => el("th", { scope: "col" }, safe(name))))),
      el("tbody", body.map((cells) => el("tr", cells.map((said) => el(String(said)[24] ? "td.long" : "td", { dir: "auto" }, safe(String(said)))))))));
  const quoted = (name) => (/^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\"'\"'")}'`);
  const typed = (row) => {
    const template = data.show[row[SUITE]];
    // What cannot be typed is not offered as a command.
    return template && !row[QID].match(STEERING) && !/[\n\r\t]/.test(row[QID])
      ? template.replace("RAGWORTHY-QID", () => quoted(row[QID]))
      : "";
  };
  const reproduce = (row, sheet) => {
    const all = [typed(row), ...((sheet && sheet.go) || [])].filter(Boolean);
    return all.length
      ? all.map((command) => el("pre.q-go", safe(command)))
      : el("p.muted", "ragworthy show, with the files of the run: they are not in its folder.");
  };
  const metrics = (row) => {
    const [told, silent] = data.profiles[row[PROFILE]];
    return [
      told.length ? el("dl.q-metrics", told.map(([name, value]) =>
        el("div", el("dt", word(name.slice(name.indexOf(".") + 1), name.split("@")[0])), el("dd", safe(value))))) : null,
      silent.length ? el("details", el("summary", "Metrics that say nothing of this question"),
        el("ul", silent.map((why) => el("li", safe(why))))) : null,
    ];
  };
  const texts = (row, sheet) => {
    if (!sheet) return [el("p.muted", "This page has no more of this question",
      typed(row) ? ": the command below shows all of it." : ".")];
    const kept = (sheet.p || []).map((one) => passage(one, sheet));
    const rest = sheet.p_more ? el("p.q-more", `${count(sheet.p_more)} more are not listed.`) : null;
    return kept.length ? [el("ol.q-texts", kept), rest] : [];
  };
  const named = (list, nth) => (nth < 0 ? null : word(data[list][nth], data.anchors[list][nth]));
  const why = (row, sheet) => {
    if (!rank(row)) return null;
    const where = [named("stages", row[STAGE]), row[STAGE] >= 0 && row[CAUSE] >= 0 ? ": " : "", named("causes", row[CAUSE])];
    const said = sheet && sheet.why ? text(sheet.why, "p") : null;
    const way = WAYS[row[WAY]];
    return el("div.q-why", el("p", el("b", where)), said,
      way ? el("p.q-more", `Against the baseline: ${way[0]} (${way[1]})`) : null);
  };
  const page = (nth) => {
    const row = rows[nth];
    const sheet = sheetOf(row);
    const at = shown.indexOf(nth);
    const step = (by, title) => el("button", {
      type: "button", disabled: at < 0 || at + by < 0 || at + by >= shown.length,
      onclick: () => open(shown[at + by]),
    }, title);
    const runs = sheet && sheet.runs;
    const slices = row[SLICES].map((one) => el("span.chip", safe(data.slices[one])));
    const question = sheet ? sheet.question : row[QUESTION];
    const parts = [
      el("div.q-bar",
        el("button", { type: "button", onclick: () => close() }, "← All questions"),
        step(-1, "‹ Previous"), step(1, "Next ›"),
        at < 0 ? null : el("span.place", `${count(at + 1)} of ${count(shown.length)}`)),
      el("h3", { tabindex: "-1", id: "q-title" }, id(row[QID]), chip(row, true),
        several ? el("span.chip", data.suites[row[SUITE]]) : null, slices),
      question ? text(question, "p", "ask.text") : null,
      why(row, sheet),
      sheet && sheet.view ? el("pre.q-view", { dir: "auto" }, safe(plain(sheet.view)), more(Array.isArray(sheet.view) && sheet.view[1])) : null,
      sheet && sheet.view ? null : el("dl.q-facts", facts(row, sheet)),
      block("Texts: retrieved in their order, gold and cited ones marked", texts(row, sheet)),
      runs ? block(runs.head[0] === "who" ? "Votes" : "Runs", grid(runs.head, runs.rows), runs.more ? el("p.q-more", `${count(runs.more)} more runs`) : null) : [],
      block("What the metrics say", metrics(row)),
      sheet && sheet.past ? block("Earlier runs", grid(["run", "when", "label", "cause"], sheet.past)) : [],
      block("Notes", ((sheet && sheet.notes) || []).map((said) => text(said, "p", "text.muted"))),
      block("See it again, and go on from here", reproduce(row, sheet)),
    ];
    detail.replaceChildren(...there(parts));
  };
  const show = () => {
    const isOpen = state.q !== null;
    list.hidden = isOpen;
    detail.hidden = !isOpen;
    if (!isOpen) return;
    page(state.q);
    app.scrollIntoView({ block: "start" });
    document.getElementById("q-title").focus({ preventScroll: true });
  };
  const open = (nth) => {
    state.q = nth;
    remember(true);
    show();
  };
  const close = () => {
    const was = shown.indexOf(state.q);
    state.q = null;
    remember(true);
    show();
    move(was < 0 ? active : was);
    app.scrollIntoView({ block: "start" });
  };

  // --- what people do

  search.addEventListener("input", () => {
    state.find = search.value;
    refresh();
  });
  pane.addEventListener("scroll", () => draw(false), { passive: true });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-nth]");
    if (!row || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    active = Number(row.dataset.nth);
    open(shown[active]);
  });
  body.addEventListener("focusin", (event) => {
    const row = event.target.closest("tr[data-nth]");
    if (row) active = Number(row.dataset.nth);
  });
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  list.addEventListener("keydown", (event) => {
    if (event.target === search) {
      if (event.key === "ArrowDown") move(0);
      else if (event.key === "Enter" && shown.length) open(shown[0]);
      else if (event.key === "Escape" && state.find) {
        state.find = "";
        refresh();
      } else return;
      event.preventDefault();
    } else if (body.contains(event.target) && event.key in steps) {
      event.preventDefault();
      if (event.key === "ArrowUp" && active === 0) search.focus();
      else move(active + steps[event.key]);
    } else if (body.contains(event.target) && event.key === "Escape") {
      event.preventDefault();
      search.focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      if (state.q !== null) close();
      search.focus();
      search.select();
      app.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Escape" && state.q !== null && !typing) close();
    else if (state.q !== null && !typing && !event.target.closest(".scroll") && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const to = shown[shown.indexOf(state.q) + (event.key === "ArrowLeft" ? -1 : 1)];
      if (to !== undefined && shown.includes(state.q)) open(to);
    }
  });
  const follow = () => {
    if (!/^$|^#questions$|=/.test(location.hash)) return; // a link to something else on the page
    const before = state.q;
    state = read();
    refresh(true);
    if (state.q !== null || before !== null) show();
    if (state.unknown) app.scrollIntoView({ block: "start" });
  };
  window.addEventListener("hashchange", follow);
  window.addEventListener("popstate", follow);
  window.addEventListener("resize", () => {
    height = 0;
    if (state.q === null) draw(true);
  });

  document.querySelector(".q-plain")?.classList.add("printed");
  app.hidden = false;
  state = read();
  refresh(true);
  if (state.q !== null) show();
  else if (location.hash.includes("=")) app.scrollIntoView({ block: "start" });
})();
