// The tour: one stop at a time; arrow keys lead on while the focus is in it.
const WHY = { person: "disagreement with the person", models: "disagreement among models" };
let at = 0;

async function showStop(place, focus = true) {
  await start();
  const box = document.getElementById("stop");
  at = Math.max(0, Math.min(about.tour.length - 1, place));
  const stop = about.tour[at];
  const talk = about.talks[stop.row];
  const view = await turnView(stop.row, stop.turn, { items: stop.items });
  const title = make("h3", { tabindex: "-1" }, `Stop ${at + 1} of ${about.tour.length}: `, name(talk.name), `, turn ${talk.turns.indexOf(stop.turn) + 1} of ${talk.turns.length}, ${WHY[stop.why]}`);
  box.replaceChildren(
    make("div", { class: "bar-of-buttons" },
      button("← Previous", () => showStop(at - 1), { disabled: at === 0, "data-go": "previous" }),
      button("Next →", () => showStop(at + 1), { disabled: at === about.tour.length - 1, "data-go": "next" }),
      button("One model at a time", () => openTurn(stop.row, stop.turn, { group: null, items: stop.items })),
      make("span", { class: "ci" }, "You can also use the left and right arrow keys.")),
    title, view);
  box.hidden = false;
  if (focus) title.focus();
}

function startTour() {
  const box = document.getElementById("stop");
  if (!box) return;
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".scroll, select")) return;
    if (event.key === "ArrowRight") showStop(at + 1);
    else if (event.key === "ArrowLeft") showStop(at - 1);
    else return;
    event.preventDefault();
  });
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    if (box.hidden) showStop(at, false);
  }, { rootMargin: "600px" });
  seen.observe(document.getElementById("tour"));
}
