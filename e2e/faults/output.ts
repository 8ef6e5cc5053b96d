import type { Page } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { bash, firstTurn } from '../holdfast.ts';
import { expect, seenAt, sleep, withBench, type Bench } from './bench.ts';
import type { Row, Tally, Tools } from './tally.ts';

const ANSWER_MS = 200;
const STOP_MS = 1_000;
const LINE = 'the quick brown fox jumps over the lazy dog, again and again and again';
const TEN_MB = 10_000_000;

/** `\342\202` and `\254` are one character, `\377` is none, `\342\200\250` is U+2028. */
const BYTES = String.raw`printf 'split \342\202'; sleep 0.3; printf '\254 whole\n'; printf 'a\377b invalid\n'; printf 'p\342\200\250q separated\n'; for b in '\360' '\237' '\230' '\200'; do printf "$b"; sleep 0.15; done; echo ' four'`;

export const output: Row[] = [
	{
		name: '10 MB of output, and a line of 1 MB',
		must: 'the page answers within 200 ms throughout, the text right',
		alone: true,
		run: flood,
	},
	{
		name: 'endless output, stopped',
		must: 'the page answers within 200 ms throughout, Stop within 1 s',
		alone: true,
		run: stopFlood,
	},
	{
		name: 'split characters, invalid UTF-8, U+2028',
		must: 'text right, live and after a reload',
		run: strangeBytes,
	},
];

/** The model runs what it is told to run, and then says so. */
const run = (request: ModelRequest): Reply =>
	firstTurn(request)
		? [bash(request.messages.at(-1)!.text)]
		: [{ text: 'before\u2028after, and \u{1f600}.', pace: 5 }];

async function flood(tally: Tally, { browser, times }: Tools) {
	const commands = {
		'10 MB': `yes '${LINE}' | head -c ${TEN_MB}; echo; echo the end of it`,
		'1 MB line': `head -c 1000000 /dev/zero | tr '\\0' y; echo; echo the end of it`,
		'1 MB line in pieces': `for i in $(seq 100); do head -c 10000 /dev/zero | tr '\\0' z; sleep 0.02; done; echo; echo the end of it`,
	};
	await withBench(browser, run, {}, async ({ page, ui }) => {
		for (const [name, command] of Object.entries(commands)) {
			for (let count = 0; count < times(1, 3); count++) {
				const before = await ui.commands.count();
				const answering = new Answering(page);
				await ui.send(command);
				const shown = ui.commands.nth(before);
				await expect(shown).toHaveAttribute('data-state', 'done', { timeout: 60_000 });
				await expect(shown.locator('pre')).toContainText('the end of it');
				await ui.rested();
				for (const ms of await answering.end()) {
					tally.time(`page answered (${name})`, ms, ANSWER_MS, 'each');
				}
				tally.runs++;
			}
		}
	});
}

async function stopFlood(tally: Tally, { browser, times }: Tools) {
	await withBench(browser, run, {}, async ({ page, ui }) => {
		for (let count = 0; count < times(2, 5); count++) {
			const before = await ui.commands.count();
			await ui.send(`yes '${LINE}'`);
			const shown = ui.commands.nth(before);
			await expect(shown.locator('pre')).toContainText('quick brown fox');
			const answering = new Answering(page);
			await sleep(1_500);
			const ended = seenAt(page, '[data-role=tool]:last-of-type .word', /stopped by you/);
			const began = Date.now();
			await page.evaluate(() => {
				const buttons = [...document.querySelectorAll('button')];
				buttons.find((one) => one.textContent?.trim() === 'Stop command')!.click();
			});
			await expect(shown).toHaveAttribute('data-state', 'stopped');
			tally.time('stopped', (await ended) - began, STOP_MS, 'each');
			await ui.rested();
			for (const ms of await answering.end()) tally.time('page answered', ms, ANSWER_MS, 'each');
			tally.runs++;
		}
	});
}

async function strangeBytes(tally: Tally, { browser, times }: Tools) {
	await withBench(browser, run, {}, async (bench) => {
		const { page, ui } = bench;
		for (let count = 0; count < times(1, 5); count++) {
			const before = await ui.commands.count();
			await ui.send(BYTES);
			await right(tally, bench, before, 'of the model');
			await ui.send(`!${BYTES}`);
			await right(tally, bench, before + 1, 'of the person');
			await ui.rested();
			// The renderer makes a line of it, or leaves it: nothing may be missing.
			const said = await ui.answers.last().textContent();
			tally.expect(/before\s*after, and \u{1f600}\./u.test(said!), `U+2028 in text: ${said}`);
			tally.runs++;
		}
		const live = await ui.commands.allTextContents();
		await page.reload();
		await expect(ui.commands).toHaveCount(live.length);
		const later = await ui.commands.allTextContents();
		if (later.join() !== live.join()) tally.lost('the output differs after a reload');
	});
}

async function right(tally: Tally, { ui }: Bench, index: number, whose: string) {
	const shown = ui.commands.nth(index);
	await expect(shown).toHaveAttribute('data-state', 'done');
	const text = (await shown.locator('pre').textContent()) ?? '';
	const wanted = { 'split € whole': 1, 'a\ufffdb invalid': 1, '\u{1f600} four': 1 };
	for (const line of Object.keys(wanted)) {
		tally.expect(text.includes(line), `a command ${whose} lacks "${line}": ${text.slice(0, 200)}`);
	}
	tally.expect(/p.{0,9}q separated/su.test(text), `a command ${whose}: U+2028 in ${text}`);
}

/** Asks the page something all the time, and measures how long each answer takes. */
class Answering {
	#on = true;
	#times: number[] = [];
	#done: Promise<void>;

	constructor(page: Page) {
		this.#done = this.#ask(page);
	}

	async end(): Promise<number[]> {
		this.#on = false;
		await this.#done;
		return this.#times;
	}

	async #ask(page: Page) {
		while (this.#on) {
			const began = performance.now();
			// A click and what follows from it, as far as the page is concerned.
			await page.evaluate(() => {
				document
					.querySelector('textarea')!
					.dispatchEvent(new MouseEvent('click', { bubbles: true }));
			});
			this.#times.push(performance.now() - began);
			await sleep(40);
		}
	}
}
