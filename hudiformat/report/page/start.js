// Everything starts here.

const facts = JSON.parse(byId("facts").textContent);
showTop(facts);
showAdvice(facts);
showProblems(facts.problems);
const map = showLayout(facts);
showSizes(facts);
showTimeline(facts);
showGrowth(facts);
showBlocks(facts);
showOutlook(facts);
showFindings(facts);
showIdentity(facts);
showContents();
addEventListener("scroll", () => tip.hide(), { passive: true });
chooseTheme(() => map && map.repaint());
document.documentElement.dataset.ready = "true";
