// The ones models write, each with its character at its end. The whole list is 2,231 names, and the
// parser that knows it is innerHTML.
const NAMES =
	'amp& lt< gt> quot" apos\' nbsp\u00a0 ensp\u2002 emsp\u2003 thinsp\u2009 shy\u00ad copy© reg® ' +
	'trade™ hellip… mdash— ndash– lsquo‘ rsquo’ ldquo“ rdquo” laquo« raquo» larr← uarr↑ rarr→ darr↓ ' +
	'harr↔ lArr⇐ rArr⇒ hArr⇔ times× divide÷ plusmn± minus− deg° microµ middot· bull• sect§ para¶ ' +
	'dagger† euro€ pound£ yen¥ cent¢ le≤ ge≥ ne≠ asymp≈ equiv≡ infin∞ sum∑ prod∏ radic√ isin∈ cap∩ ' +
	'cup∪ and∧ or∨ not¬ forall∀ exist∃ alphaα betaβ gammaγ deltaδ epsilonε lambdaλ muμ piπ sigmaσ ' +
	'omegaω frac12½ frac14¼ frac34¾ sup2² sup3³ check✓ cross✗ ast* lowbar_ grave` num# vert| colon: ' +
	'lbrack[ rbrack] lpar( rpar) lbrace{ rbrace} sol/ bsol\\';

const CHARACTERS = new Map(NAMES.split(' ').map((name) => [name.slice(0, -1), name.slice(-1)]));

/** Named character references (`&lt;`) as characters; marked has already seen to numbered ones. */
export function decodeEntities(text: string): string {
	if (!text.includes('&')) return text;

	return text.replace(/&([a-zA-Z]\w*);/g, (whole, name) => CHARACTERS.get(name) ?? whole);
}
