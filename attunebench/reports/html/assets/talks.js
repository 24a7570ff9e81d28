// What a click on a number, a conversation or a stop opens.
async function clicked(event) {
  const target = event.target.closest?.("[data-d], [data-talk], [data-stop], [data-open], [data-close]");
  if (!target) return;
  const { d, talk, stop, open, close } = target.dataset;
  if (d !== undefined) await showList(Number(d));
  else if (talk !== undefined) {
    await start();
    await openTurn(Number(talk), about.talks[Number(talk)].turns[0] ?? null, { group: null, items: [] });
  } else if (stop !== undefined) {
    await showStop(Number(stop));
    document.getElementById("stop").scrollIntoView();
  } else {
    for (const one of document.querySelectorAll(`#${open ?? close} details.body, #${open ?? close} details.profile`)) one.open = open !== undefined;
  }
}

// A link to something that is folded away unfolds it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const within = target.querySelector(":scope > details.body");
  if (within) within.open = true;
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
}
