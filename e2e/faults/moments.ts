/** The moments at which Pi, or the proxy, is killed: how to come to each, and what was asked by then. */
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { bash, error, firstTurn } from '../holdfast.ts';
import { expect, until, type Bench } from './bench.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';

export const MOMENTS = [
	'accept',
	'hang',
	'mid-stream',
	'retry wait',
	'command',
	'between turns',
	'with a queue',
] as const;
export type Moment = (typeof MOMENTS)[number];

export const PARTIAL = 'seen before it was cut off, word by word, and then';

/** A conversation at its moment. */
export interface Reached {
	/** Every text that was accepted. */
	prompts: string[];
	/** Text on the page that must still be there afterwards. */
	seen: string[];
	/** A line of `ran.txt` for the command that was running. */
	command?: string;
}

/** Answers by what the first word of the last message asks for. */
export function play(request: ModelRequest): Reply {
	const said = request.messages.findLast(({ role }) => role === 'user')?.text ?? '';
	const [kind, word = ''] = said.split(' ');
	switch (kind) {
		case 'accept':
			return [{ wait: 30_000 }];
		case 'hang':
		case 'queue':
			return [{ hang: true }];
		case 'stream':
			return [{ text: `${word} ${PARTIAL}`, pace: 20 }, { hang: true }];
		case 'retry':
			return error(503);
		case 'command':
			return firstTurn(request)
				? [
						bash(
							`echo ${word} >> ran.txt; echo begun; (setsid sleep 999.5 & wait) & for i in $(seq 300); do sleep 1; done`,
						),
					]
				: [{ text: 'It ended.' }];
		case 'turns':
			return firstTurn(request)
				? [{ text: 'Once.' }, bash(`echo ${word} >> ran.txt; echo first turn`)]
				: [{ hang: true }];
		default:
			return [{ text: `Heard ${word}.` }];
	}
}

/** Waits before a retry are long enough to be killed in. */
export const SETTINGS = { retry: { baseDelayMs: 60_000 } };

/** Brings the open conversation to the moment; resolves when it is there. */
export async function reach(moment: Moment, bench: Bench, random: Random): Promise<Reached> {
	const { page, ui, holdfast } = bench;
	const word = random.word();
	const requests = holdfast.provider.requests.length;
	const requested = (more: number) =>
		until('a request', () => holdfast.provider.requests.length >= requests + more);

	switch (moment) {
		case 'accept': {
			const accepted = bench.heard(/"type":"reply",.*"disposition"/);
			await ui.send(`accept ${word}`);
			await accepted;
			return { prompts: [`accept ${word}`], seen: [] };
		}
		case 'hang':
			await ui.send(`hang ${word}`);
			await requested(1);
			return { prompts: [`hang ${word}`], seen: [] };
		case 'mid-stream':
			await ui.send(`stream ${word}`);
			await expect(ui.answers).toContainText('cut off, word by word');
			return { prompts: [`stream ${word}`], seen: [`${word} seen before it was cut off`] };
		case 'retry wait':
			await ui.send(`retry ${word}`);
			await expect(ui.progress).toBeVisible();
			return { prompts: [`retry ${word}`], seen: [] };
		case 'command':
			await ui.send(`command ${word}`);
			await expect(ui.commands.locator('pre')).toContainText('begun');
			return { prompts: [`command ${word}`], seen: ['begun'], command: word };
		case 'between turns': {
			const ended = bench.heard(/"type":"tool_end"/);
			await ui.send(`turns ${word}`);
			await ended;
			return { prompts: [`turns ${word}`], seen: ['first turn'], command: word };
		}
		case 'with a queue': {
			await ui.send(`queue ${word}`);
			await requested(1);
			await ui.send(`steer ${word}`);
			await ui.message.fill(`follow ${word}`);
			await ui.button('After this').click();
			await expect(page.getByRole('region', { name: 'Waiting messages' }).locator('li')).toHaveText(
				[/steer/, /follow/],
			);
			return { prompts: [`queue ${word}`, `steer ${word}`, `follow ${word}`], seen: [] };
		}
	}
}

/** No prompt is gone without a word: Pi holds it still, or the page offers it or says so. */
export async function accountFor(
	tally: Tally,
	{ page, ui, holdfast }: Bench,
	moment: Moment,
	{ prompts, seen }: Reached,
	random: Random,
) {
	const after = `after ${random.word()}`;
	await ui.send(after);
	await expect(ui.answers.last()).toContainText(`Heard ${after.split(' ')[1]}`);

	const told = holdfast.provider.requests
		.at(-1)!
		.messages.filter(({ role }) => role === 'user')
		.map(({ text }) => text);
	const offered = await page
		.getByRole('region', { name: 'Messages not sent' })
		.locator('li')
		.allTextContents();
	const marked = await ui.log
		.locator('[data-delivery=lost], [data-delivery=failed]')
		.allTextContents();
	for (const prompt of prompts) {
		const kept = told.filter((text) => text === prompt).length;
		const said = [...offered, ...marked].some((text) => text.includes(prompt));
		if (kept === 0 && !said) tally.lost(`${moment}: prompt "${prompt}"`);
		if (kept > 1) tally.doubled(`${moment}: prompt "${prompt}"`);
	}
	const shown = await ui.log.textContent();
	for (const text of seen) {
		tally.expect(shown!.includes(text), `${moment}: what had been seen is gone: "${text}"`);
	}
}
