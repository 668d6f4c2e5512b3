(function () {
  "use strict";
  var form = document.getElementById("card");
  var total = document.getElementById("total");
  var risk = document.getElementById("risk");
  var bar = document.getElementById("bar");
  var open = document.getElementById("open");
  var intercept = Number(form.dataset.intercept);
  var multiplier = Number(form.dataset.multiplier);
  var fields = Array.prototype.slice.call(form.querySelectorAll("[data-kind]"));

  function nameOf(field) {
    return field.labels[0].textContent;
  }

  // Points of one field, or null while it has no answer.
  function pointsOf(field) {
    var kind = field.dataset.kind;
    if (kind === "check" || kind === "unknown") {
      return field.checked ? Number(field.dataset.points) : 0;
    }
    if (kind === "choice") {
      return Number(field.options[field.selectedIndex].dataset.points);
    }
    if (field.disabled) {
      return 0;
    }
    if (field.value === "" || !isFinite(field.valueAsNumber)) {
      return null;
    }
    if (kind === "times") {
      return Number(field.dataset.points) * field.valueAsNumber;
    }
    return JSON.parse(field.dataset.cuts).reduce(function (sum, cut) {
      return field.valueAsNumber >= cut[0] ? sum + cut[1] : sum;
    }, 0);
  }

  // As on the printed card: what is not 0 or 1 never looks like it.
  function percent(value) {
    var hundred = 100 * value;
    if (hundred < 0.05) { return value > 0 ? "< 0.1%" : "0%"; }
    if (hundred >= 99.95) { return value < 1 ? "> 99.9%" : "100%"; }
    return hundred.toFixed(1) + "%";
  }

  function update() {
    var sum = 0;
    var missing = [];
    fields.forEach(function (field) {
      if (field.dataset.kind === "unknown") {
        document.getElementById(field.dataset.for).disabled = field.checked;
      }
    });
    fields.forEach(function (field) {
      var points = pointsOf(field);
      if (points === null) { missing.push(nameOf(field)); } else { sum += points; }
    });
    var complete = missing.length === 0;
    var value = 1 / (1 + Math.exp(-(intercept + sum) / multiplier));
    total.textContent = complete ? String(Math.round(sum * 1e6) / 1e6).replace("-", "\u2212") : "\u2013";
    risk.textContent = complete ? percent(value) : "\u2013";
    bar.style.width = complete ? 100 * value + "%" : "0";
    open.textContent = complete ? "" : "Still to fill in: " + missing.join(", ");
  }

  form.addEventListener("input", update);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  form.addEventListener("reset", function () { window.setTimeout(update, 0); });
  update();
})();
