import { HOSTILE, marked } from './payloads.ts';

/** A Pi extension that asks, says and names what it should not: `/ask`, `/name-it`. */
export const EXTENSION = `
const hostile = ${JSON.stringify(HOSTILE.map(marked))};
export default (pi) => {
	pi.registerCommand('ask', {
		handler: async (_args, { ui }) => {
			for (const [index, text] of hostile.entries()) {
				ui.notify(text, ['info', 'warning', 'error'][index % 3]);
				ui.setStatus('hostile', text);
				ui.setWidget('hostile', [text]);
				ui.setTitle(text);
				if (index % 4 === 0) await ui.select(text, [text, 'other']);
				else if (index % 4 === 1) await ui.confirm(text, text);
				else if (index % 4 === 2) await ui.input(text, text);
				else await ui.editor(text, text);
			}
		},
	});
	pi.registerCommand('name-it', {
		handler: async (args) => pi.setSessionName(hostile[Number(args)]),
	});
};
`;
