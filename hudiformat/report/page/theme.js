// The colours of the page: those of the system, or those that were chosen.

function chooseTheme(whenChanged) {
  const root = document.documentElement;
  const choose = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
    whenChanged();
  };
  let known = null;
  try {
    known = localStorage.getItem("hudiformat-theme");
  } catch {
    // without a store, the page has the colours of the system
  }
  for (const input of document.querySelectorAll('input[name="theme"]')) {
    if (input.value === known) input.checked = true;
    input.addEventListener("change", () => {
      choose(input.value);
      try {
        localStorage.setItem("hudiformat-theme", input.value);
      } catch {
        // then the choice holds for this time
      }
    });
  }
  if (known) choose(known);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", whenChanged);
}
