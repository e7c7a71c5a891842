"use strict";
// The page is whole without this. It adds switches, values where somebody points, and tables that can be sorted.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const element = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const hiddenSeeds = new Set();
  const tip = document.getElementById("tip");

  // Means over the seeds that are switched on.

  const mean = (values) => {
    const known = values.filter((value) => value !== null && value !== undefined);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };

  const averaged = (key) => {
    const [place, mark] = key.split("-");
    const topic = data[place];
    const runs = topic.runs[mark].filter((run) => !hiddenSeeds.has(String(run.seed)));
    const moments = topic.tasks.slice(0, Math.max(0, ...runs.map((run) => run.average.length)));
    return {
      tasks: topic.tasks,
      seeds: runs.length,
      average: moments.map((_, k) => mean(runs.map((run) => run.average[k]))),
      on: moments.map((_, k) => moments.slice(0, k + 1).map((_, j) => mean(runs.map((run) => run.on[k]?.[j])))),
    };
  };

  // Accuracy over time.

  const frame = (svg) => {
    const [left, top, width, height] = svg.dataset.box.split(" ").map(Number);
    const tasks = data[svg.dataset.panel.split("-")[0]].tasks;
    const last = Math.max(tasks[tasks.length - 1] - 1, 1e-9);
    const low = Number(svg.dataset.low);
    return { x: (k) => left + width * (tasks[k] - 1) / last, y: (value) => top + height * (1 - value) / (1 - low) };
  };

  const path = (points) => {
    let pen = "M";
    return points.map(([x, y, value]) => {
      if (value === null) { pen = "M"; return ""; }
      const piece = `${pen}${x.toFixed(1)} ${y.toFixed(1)}${pen === "M" ? "h0" : ""}`;
      pen = "L";
      return piece;
    }).join("");
  };

  const redrawPanel = (svg) => {
    const at = frame(svg);
    const found = averaged(svg.dataset.panel);
    const drawn = (values) => path(values.map(([k, value]) => [at.x(k), at.y(value), value]));
    for (const line of all("[data-key]", svg)) {
      const key = line.dataset.key;
      if (key.startsWith("seed ")) line.toggleAttribute("hidden", hiddenSeeds.has(key.slice(5)));
      else if (key === "average") line.setAttribute("d", drawn(found.average.map((value, k) => [k, value])));
      else line.setAttribute("d", drawn(found.on.map((row, k) => [k, row[key] ?? null]).slice(Number(key))));
    }
  };

  const seedWords = (count) => (count === 1 ? "" : `, mean of ${count} seeds`);

  const panelPoints = (svg) => {
    const at = frame(svg);
    const { tasks, seeds, average, on } = averaged(svg.dataset.panel);
    return average.flatMap((value, k) => {
      const after = `after task ${tasks[k]}`;
      const own = [{ x: at.x(k), y: at.y(value), value, text: `${after}: average ${format(value)}${seedWords(seeds)}` }];
      const others = on[k].map((v, j) => ({ x: at.x(k), y: at.y(v), value: v, text: `${after}: task ${tasks[j]} ${format(v)}${seedWords(seeds)}` }));
      return own.concat(others).filter((point) => point.value !== null);
    });
  };

  // The maps.

  const format = (value) => (value === null ? "not measured" : value.toFixed(3));
  const short = (value) => {
    if (value === null) return "–";
    return value > 0.995 ? value.toFixed(1) : value.toFixed(2).replace(/^0/, "");
  };
  const level = (value) => (value === null ? -1 : Math.round(20 * Math.min(Math.max(value, 0), 1)));

  const redrawMap = (svg) => {
    const size = Number(svg.dataset.size);
    const rows = averaged(svg.dataset.map).on;
    const paths = new Map();
    rows.forEach((row, k) => row.forEach((value, j) => {
      const square = `M${(j * size).toFixed(1)} ${(k * size).toFixed(1)}h${size}v${size}h-${size}z`;
      paths.set(level(value), (paths.get(level(value)) ?? "") + square);
    }));
    svg.querySelector("g").replaceChildren(...[...paths].map(([shade, d]) => element("path", { class: `h${shade}`, d })));
    const values = rows.flat();
    all("text:not(.tick):not(.axis)", svg).forEach((text, place) => {
      const value = values[place] ?? null;
      text.setAttribute("class", `v${level(value)}`);
      text.textContent = short(value);
    });
  };

  const mapPoints = (svg) => {
    const size = Number(svg.dataset.size);
    const { tasks, seeds, on } = averaged(svg.dataset.map);
    return on.flatMap((row, k) => row.map((value, j) => ({
      x: (j + 0.5) * size, y: (k + 0.5) * size,
      text: `on task ${tasks[j]} after task ${tasks[k]}: ${format(value)}${seedWords(seeds)}`,
    })));
  };

  // Values where somebody points, or moves with the arrow keys.

  const dotPoints = (svg) => all("[data-tip]:not([hidden])", svg).map((dot) => (
    { x: Number(dot.dataset.x), y: Number(dot.dataset.y), text: dot.dataset.tip }
  ));
  const linePoints = (svg) => all("[data-told]", svg).flatMap((line) => {
    const told = line.dataset.told.split(" ").map(Number);
    const places = [...line.getAttribute("d").matchAll(/[ML]([\d.]+) ([\d.]+)/g)];
    return places.map(([, x, y], k) => (
      { x: Number(x), y: Number(y), text: `${line.dataset.name} after ${told[2 * k]} steps: ${format(told[2 * k + 1])}` }
    ));
  });

  const pointsOf = (svg) => {
    if (svg.dataset.panel) return panelPoints(svg);
    if (svg.dataset.map) return mapPoints(svg);
    return dotPoints(svg).concat(linePoints(svg));
  };

  const ring = element("circle", { class: "point", r: 4 });

  const show = (svg, point) => {
    ring.setAttribute("cx", point.x);
    ring.setAttribute("cy", point.y);
    svg.append(ring);
    const place = new DOMPoint(point.x, point.y).matrixTransform(svg.getScreenCTM());
    tip.textContent = point.text;
    tip.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.min(Math.max(place.x - width / 2, 8), innerWidth - width - 8)}px`;
    tip.style.top = `${place.y - height - 12 < 8 ? place.y + 14 : place.y - height - 12}px`;
  };
  const hide = () => { tip.hidden = true; ring.remove(); };

  const nearest = (points, x, y) => points.reduce((best, point) => (
    Math.hypot(point.x - x, point.y - y) < Math.hypot(best.x - x, best.y - y) ? point : best
  ));

  for (const svg of all("svg[tabindex]")) {
    let current = -1;
    svg.addEventListener("pointermove", (event) => {
      const points = pointsOf(svg);
      if (!points.length) return;
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      show(svg, nearest(points, x, y));
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", () => { current = -1; hide(); });
    svg.addEventListener("keydown", (event) => {
      const points = pointsOf(svg);
      const moves = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: points.length - 1 };
      if (event.key === "Escape") hide();
      if (!(event.key in moves) || !points.length) return;
      event.preventDefault();
      current = Math.min(Math.max(moves[event.key], 0), points.length - 1);
      show(svg, points[current]);
    });
  }
  addEventListener("scroll", hide, { passive: true });

  // Switches.

  // Left of and above means better: cheaper and more accurate.
  const redrawFront = (line) => {
    const [left, top, width, height] = line.ownerSVGElement.dataset.box.split(" ").map(Number);
    const dots = dotPoints(line.ownerSVGElement);
    const beats = (a, b) => a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y);
    const front = dots.filter((dot) => !dots.some((other) => beats(other, dot))).sort((a, b) => a.x - b.x || b.y - a.y);
    const steps = front.map((dot, k) => `${k ? "" : `M${dot.x} ${top + height}`}H${dot.x}V${dot.y}`);
    line.setAttribute("d", front.length ? `${steps.join("")}H${left + width}` : "");
  };

  const showLearner = (box) => {
    for (const part of all(`[data-m="${CSS.escape(box.value)}"]`)) part.toggleAttribute("hidden", !box.checked);
  };
  const learners = document.getElementById("learners");
  const afterLearners = () => { all('[data-key="front"]').forEach(redrawFront); hide(); };
  learners.addEventListener("change", (event) => { showLearner(event.target); afterLearners(); });
  for (const button of all("button[data-all]", learners)) {
    button.addEventListener("click", () => {
      for (const box of all("input", learners)) { box.checked = button.dataset.all === "true"; showLearner(box); }
      afterLearners();
    });
  }

  document.getElementById("seeds").addEventListener("change", (event) => {
    hiddenSeeds[event.target.checked ? "delete" : "add"](event.target.value);
    all("svg[data-panel]").forEach(redrawPanel);
    all("svg[data-map]").forEach(redrawMap);
    hide();
  });

  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => { theme.setAttribute("aria-pressed", String(isDark())); };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  const menu = document.querySelector(".menu");
  addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // Tables.

  const sortBy = (head, place) => {
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") !== "descending";
    const value = (row) => {
      const cell = row.querySelectorAll("[data-v]")[place];
      return cell && Number.isFinite(Number(cell.dataset.v)) ? Number(cell.dataset.v) : null;
    };
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return down ? y - x : x - y;
    });
    all("th", head.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  };
  for (const table of all("table.sortable")) {
    all("th.number", table.tHead).slice(0, -1).forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => sortBy(head, place));
      head.replaceChildren(button);
    });
  }

  // On paper everything is open.

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not(.menu):not([open])");
    opened.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => { opened.forEach((each) => { each.open = false; }); });

  all("[data-script]").forEach((part) => { part.hidden = false; });
})();
