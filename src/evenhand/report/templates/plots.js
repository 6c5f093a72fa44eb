"use strict";
/* Plots: colours that start with @ are the theme's, so a plot follows light and dark. */
const drawPlot = (() => {
  const themed = (value, style) => {
    if (typeof value === "string" && value.startsWith("@")) return style.getPropertyValue("--" + value.slice(1)).trim();
    if (Array.isArray(value)) return value.map((entry) => themed(entry, style));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, themed(entry, style)]));
    return value;
  };
  return (place, spec) => {
    /* The figure is named as a whole and its numbers stand in a table; its marks would only be noise. */
    const canvas = Object.assign(document.createElement("div"), { className: "plot-canvas", ariaHidden: "true" });
    place.replaceChildren(canvas);
    vegaEmbed(canvas, themed(spec, getComputedStyle(document.documentElement)), { actions: false, renderer: "svg" });
  };
})();
