import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { bash, error, firstTurn } from '../holdfast.ts';
import { startRelay, type Relay } from '../relay.ts';
import { expect, sleep, until, withBench, type Bench } from './bench.ts';
import type { Random } from './random.ts';
import type { Row, Tally, Tools } from './tally.ts';

const CUTS_A_ROUND = 50;
/** Pages that are cut, in the same conversation. */
const PAGES = 4;
/** Rounds of one proxy, each with a Pi of its own that goes on running. */
const ROUNDS_A_BENCH = 5;
const MOST_PROMPTS = 60;

export const cuts: Row[] = [
	{
		name: 'connection cut at a random byte',
		must: '0 lost, 0 doubled, 0 commands run twice; the page equal to one never cut',
		run: (tally, tools) => cutRow(tally, tools),
	},
	{
		name: 'connection cut, with a ring of 20 events',
		must: 'the same, when most returns need a snapshot',
		run: (tally, tools) => cutRow(tally, tools, 20),
	},
];

/** What was asked for in a round. */
interface Asked {
	prompts: string[];
	/** A line each in `ran.txt`. */
	commands: string[];
}

async function cutRow(tally: Tally, { browser, random, times }: Tools, ringEvents?: number) {
	const wanted = times(25, 1_000);
	const env = ringEvents === undefined ? {} : { HOLDFAST_RING_EVENTS: String(ringEvents) };
	const during = new Map<string, number>();
	let early = 0;

	while (tally.runs < wanted) {
		const model = new Model(random);
		const settings = { retry: { baseDelayMs: 700 } };
		await withBench(browser, model.play, { settings, env, closed: true }, async (bench) => {
			let phase = () => 'idle';
			const relay = await startRelay(Number(new URL(bench.holdfast.url).port), random, () =>
				during.set(phase(), (during.get(phase()) ?? 0) + 1),
			);
			try {
				for (let round = 0; round < ROUNDS_A_BENCH && tally.runs < wanted; round++) {
					const before = relay.cuts;
					const goal = Math.min(CUTS_A_ROUND, wanted - tally.runs);
					phase = () => model.phase;
					await cutRound(tally, bench, relay, model, random, before + goal);
					tally.runs += relay.cuts - before;
				}
			} finally {
				early += relay.early;
				await relay.close();
			}
		});
	}
	const places = [...during].map(([place, count]) => `${count} in ${place}`).join(', ');
	tally.note(`${places}; ${early} of them before the handshake was answered`);
}

/** One conversation: pages that are cut all the time, and one beside them that never is. */
async function cutRound(
	tally: Tally,
	bench: Bench,
	relay: Relay,
	model: Model,
	random: Random,
	goal: number,
) {
	const { holdfast, folder } = bench;
	const asked: Asked = { prompts: [], commands: [] };
	const whole = await bench.another(holdfast.url);
	const first = `say ${random.word()}`;
	await whole.ui.send(first);
	asked.prompts.push(first);
	// From then on the conversation has an address.
	await expect(whole.page).toHaveURL(/session=/);
	const { search } = new URL(whole.page.url());
	const cut = await Promise.all(
		Array.from({ length: PAGES }, () => bench.another(holdfast.address(relay.url + search))),
	);
	for (const { ui } of cut) await expect(ui.prompts).toHaveCount(1);

	relay.cutting = true;
	for (let sent = 0; relay.cuts < goal; sent++) {
		if (sent > MOST_PROMPTS) throw new Error(`${MOST_PROMPTS} prompts, and not cut often enough`);
		const word = random.word();
		const kind = random.pick(['say', 'say', 'run', 'retry', 'shell'] as const);
		if (kind === 'run' || kind === 'shell') asked.commands.push(word);
		if (kind !== 'shell') asked.prompts.push(`${kind} ${word}`);
		await random
			.pick(cut)
			.ui.send(kind === 'shell' ? `!echo ${word} >> ran.txt` : `${kind} ${word}`);

		// Sometimes into a run, as people do, but seldom enough that the queue does not grow.
		const patient = random.chance(0.5);
		await sleep(random.magnitude(30, 900));
		if (patient) await until('rest', () => model.idle || relay.cuts >= goal, 30_000);
	}
	relay.cutting = false;

	// What one of them still held back is news for all others.
	for (const { page } of [...cut, whole, ...cut]) await settled(page);
	for (const { page } of cut) {
		await compare(tally, whole.page, page);
	}
	countPrompts(tally, holdfast.provider.requests, first, asked.prompts);
	countCommands(tally, join(folder.cwd, 'ran.txt'), asked.commands);
	for (const { page } of [whole, ...cut]) await page.close();
}

/** Nothing runs, nothing waits to be sent. */
async function settled(page: Page) {
	await expect(async () => {
		await expect(page.getByText('Reconnecting…')).toHaveCount(0);
		await expect(page.getByRole('button', { name: 'Stop', exact: true })).toHaveCount(0);
		const undelivered = page.locator('[data-delivery]:not([data-delivery=delivered])');
		const waiting = undelivered.evaluateAll((all) =>
			all.map((one) => `${(one as HTMLElement).dataset['delivery']}: ${one.textContent}`),
		);
		expect(await waiting).toEqual([]);
		await expect(page.getByRole('region', { name: 'Waiting messages' })).toHaveCount(0);
		await expect(page.locator('[data-role=tool][data-state=running]')).toHaveCount(0);
	}).toPass({ timeout: 60_000 });
}

async function compare(tally: Tally, whole: Page, cut: Page) {
	// Svelte's marks tell how a page came about, not what it shows.
	const html = async (page: Page) =>
		(await page.getByRole('log').innerHTML()).replace(/<!--.*?-->/g, '').replace(/\s+/g, ' ');
	const equal = async () => (await html(whole)) === (await html(cut));
	for (let attempt = 0; attempt < 20 && !(await equal()); attempt++) await sleep(100);
	if (await equal()) return;

	const [a, b] = await Promise.all([html(whole), html(cut)]);
	const at = [...a].findIndex((letter, index) => letter !== b[index]);
	const from = Math.max(0, at - 80);
	tally.lost(
		`the cut page differs from the whole one: …${a.slice(from, at + 80)}… against …${b.slice(from, at + 80)}…`,
	);
}

/** Of this conversation, as the provider was told it last. */
function countPrompts(
	tally: Tally,
	requests: readonly ModelRequest[],
	first: string,
	prompts: string[],
) {
	const last = requests.findLast(({ messages }) => messages[0]?.text === first);
	const said = last?.messages.filter(({ role }) => role === 'user').map(({ text }) => text) ?? [];
	for (const prompt of prompts) {
		const count = said.filter((text) => text.split('\n').includes(prompt)).length;
		if (count === 0) tally.lost(`prompt "${prompt}"`);
		if (count > 1) tally.doubled(`prompt "${prompt}"`);
	}
}

function countCommands(tally: Tally, file: string, words: string[]) {
	if (words.length === 0) return;
	const lines = readFileSync(file, 'utf8').split('\n');
	for (const word of words) {
		const count = lines.filter((line) => line === word).length;
		if (count === 0) tally.lost(`command ${word}`);
		if (count > 1) tally.doubled(`command ${word}`);
	}
}

/** Answers by the first word of what it was told last, and knows what it is doing. */
class Model {
	phase = 'idle';
	#random: Random;
	#refused = new Set<string>();

	constructor(random: Random) {
		this.#random = random;
	}

	get idle() {
		return this.phase === 'idle';
	}

	play = (request: ModelRequest): Reply => {
		const said = request.messages.findLast(({ role }) => role === 'user')?.text ?? '';
		const [kind, word = ''] = said.split(' ');
		if (kind === 'retry' && !this.#refused.has(word)) {
			this.#refused.add(word);
			this.phase = 'a wait before a retry';
			return error(this.#random.pick([429, 503]));
		}
		if (kind === 'run' && firstTurn(request)) {
			this.phase = 'a command';
			return [
				{ text: `I run ${word}.`, pace: 5 },
				bash(`echo ${word} >> ran.txt; for i in $(seq 20); do echo "${word} $i"; sleep 0.04; done`),
			];
		}
		this.phase = 'a stream';
		const words = this.#random.between(40, 200);
		const pace = 8;
		setTimeout(() => (this.phase = 'idle'), words * (pace + 1) + 100);
		return [{ text: Array.from({ length: words }, (_, i) => `${word}-${i}`).join(' '), pace }];
	};
}
