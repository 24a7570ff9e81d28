// The tour: one stop at a time; arrow keys lead on while the focus is in it.
const WHY = { person: "disagreement with the person", models: "disagreement among models" };
let at = 0;

function stopLink(place) {
  const { row, turn, why } = about.tour[place];
  return linkTo("tour", { conversation: keyOfTalk(row), turn, why });
}

async function showStop(place) {
  await start();
  const box = document.getElementById("stop");
  at = place;
  const stop = about.tour[at];
  const [labels, talk] = await Promise.all([content(`labels-${stop.row}`), content(`talk-${stop.row}`)]);
  const title_ = make("h3", { tabindex: "-1" }, `Stop ${at + 1} of ${about.tour.length}: `, name(about.talks[stop.row].name), `${placeText(stop.row, stop.turn)}, ${WHY[stop.why]}`);
  const to = (step) => button(step < 0 ? "← Previous" : "Next →", () => go(stopLink(at + step)), { disabled: !about.tour[at + step], "data-key": step < 0 ? "ArrowLeft" : "ArrowRight" });
  box.replaceChildren(
    make("div", { class: "bar-of-buttons" }, to(-1), to(1),
      button("One model at a time", () => go(turnLink(stop.row, stop.turn, groupsOf(labels)[0] ?? null)), { disabled: !labels }),
      button("Copy link", (event) => copyLink(event, stopLink(at))),
      make("span", { class: "ci" }, "The left and right arrow keys work, too.")),
    title_, turnView({ labels, talk }, stop.turn, null, {}, stop.items));
  box.hidden = false;
  return title_;
}

async function showStopOf({ conversation, turn, why }, live) {
  const row = rowOf(conversation);
  const place = about.tour.findIndex((stop) => stop.row === row && String(stop.turn) === turn && stop.why === why);
  if (place < 0) throw new Unknown("stop of the tour", `${conversation}, turn ${turn}, ${why}`);
  const heading = await showStop(place);
  if (!live()) return;
  document.getElementById("stop").scrollIntoView();
  heading.focus({ preventScroll: true });
}

function startTour() {
  const box = document.getElementById("stop");
  if (!box) return;
  box.addEventListener("keydown", stepped);
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    if (box.hidden) showStop(0);
  }, { rootMargin: "600px" });
  seen.observe(document.getElementById("tour"));
}
