import type { Page } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { bash, error, firstTurn } from '../holdfast.ts';
import { startRelay, type Relay } from '../relay.ts';
import { expect, seenAt, sleep, withBench, type Bench } from './bench.ts';
import type { Row, Tally, Tools } from './tally.ts';

const COUNTDOWN_MS = 250;
const DELAY_MS = 20_000;
const AWAY_MS = 5_000;
/** At once, instead of after the delay of up to five seconds that has grown by then. */
const BACK_MS = 1_000;
const RECONNECTING = 'section[aria-label=Connection]';
const HOUR_MS = 3_600_000;
const WORDS = Array.from({ length: 150 }, (_, index) => `word${index}`).join(' ');

/** Three seconds of text, a command, and a long wait before a retry: longer than one is away. */
const play = (request: ModelRequest): Reply =>
	firstTurn(request)
		? [{ text: WORDS, pace: 20 }, bash('for i in $(seq 10); do echo "line $i"; sleep 0.05; done')]
		: error(503);
const SETTINGS = { retry: { baseDelayMs: DELAY_MS } };

export const away: Row[] = [
	{
		name: 'browser offline for 5 s',
		must: 'text complete, countdown within 250 ms of a page that stayed',
		run: (tally, tools) =>
			goAway(tally, tools, async ({ context, page }, relay) => {
				const lost = seenAt(page, RECONNECTING, /Reconnecting/);
				// Chromium keeps a WebSocket that is open, so it is cut; none can be opened from then on.
				relay.cutAll();
				await lost;
				await context.setOffline(true);
				await sleep(AWAY_MS);
				const back = seenAt(page, RECONNECTING, /./, false);
				const began = Date.now();
				await context.setOffline(false);
				tally.time('connected again', (await back) - began, BACK_MS);
			}),
	},
	{
		name: 'tab frozen and woken',
		must: 'text complete, countdown within 250 ms of a page that stayed',
		run: (tally, tools) =>
			goAway(tally, tools, async ({ context, page }) => {
				await page.evaluate(() => {
					let last = performance.now();
					Object.assign(window, { longestGap: 0 });
					setInterval(() => {
						const now = performance.now();
						const known = window as unknown as { longestGap: number };
						known.longestGap = Math.max(known.longestGap, now - last);
						last = now;
					}, 50);
				});
				// Chromium does not freeze a tab that is seen, and without a head each is: this stops all
				// that runs in it, while what arrives waits.
				const chromium = await context.newCDPSession(page);
				await chromium.send('Debugger.enable');
				await chromium.send('Debugger.pause');
				await sleep(AWAY_MS);
				await chromium.send('Debugger.resume');
				await chromium.send('Debugger.disable');
				await sleep(200);
				const gap = await page.evaluate(
					() => (window as unknown as { longestGap: number }).longestGap,
				);
				tally.expect(gap > AWAY_MS - 1_000, `the tab stood still for ${gap.toFixed(0)} ms only`);
				tally.note(`nothing ran in the tab for ${(gap / 1000).toFixed(1)} s`);
			}),
	},
	{
		name: "the browser's clock moved by an hour",
		must: 'countdown unchanged',
		run: moveClock,
	},
];

async function goAway(
	tally: Tally,
	{ browser, random, times }: Tools,
	leave: (bench: Bench, relay: Relay) => Promise<void>,
) {
	for (let run = 0; run < times(1, 5); run++) {
		const options = { settings: SETTINGS, closed: true };
		await withBench(browser, play, options, async (bench) => {
			const { page, ui, holdfast } = bench;
			const relay = await startRelay(Number(new URL(holdfast.url).port), random);
			// Offline is a property of a context, so the page that stays has one of its own.
			const elsewhere = await browser.newContext();
			try {
				await page.goto(holdfast.address(relay.url));
				await ui.send('Work, please.');
				await expect(ui.answers).toContainText('word20');
				const stayed = await elsewhere.newPage();
				await stayed.goto(holdfast.address(new URL(new URL(page.url()).search, holdfast.url).href));
				await leave(bench, relay);

				await expect(ui.answers).toHaveText([WORDS]);
				await expect(ui.progress).toBeVisible();
				await expect(stayed.getByRole('progressbar', { name: 'Retry' })).toBeVisible();
				const [ours, theirs] = await Promise.all([waitBegan(page), waitBegan(stayed)]);
				tally.time('countdowns differ by', Math.abs(ours - theirs), COUNTDOWN_MS, 'each');
				await expect(async () => {
					expect(await html(page)).toBe(await html(stayed));
				}).toPass();
				tally.runs++;
			} finally {
				await elsewhere.close();
				await relay.close();
			}
		});
	}
}

async function moveClock(tally: Tally, { browser, times }: Tools) {
	await withBench(
		browser,
		() => error(503),
		{ settings: SETTINGS },
		async (bench) => {
			const { page, ui, context } = bench;
			await ui.send('Work, please.');
			await expect(ui.progress).toBeVisible();
			const moved = await context.newPage();
			await moved.addInitScript(() => {
				const RealDate = Date;
				let shift = 0;
				Object.assign(window, { shiftClock: (ms: number) => (shift = ms) });
				window.Date = class extends RealDate {
					constructor(...args: []) {
						if (args.length > 0) super(...args);
						else super(RealDate.now() + shift);
					}
					static override now() {
						return RealDate.now() + shift;
					}
				} as DateConstructor;
			});
			await moved.goto(page.url());
			await expect(moved.getByRole('progressbar', { name: 'Retry' })).toBeVisible();

			for (let run = 0; run < times(2, 10); run++) {
				const shift = run % 2 === 0 ? HOUR_MS : -HOUR_MS;
				const before = await waitBegan(moved);
				await moved.evaluate((ms) => {
					(window as unknown as { shiftClock: (ms: number) => void }).shiftClock(ms);
				}, shift);
				// What is drawn again from the clock would be wrong by now.
				await sleep(500);
				const [after, other] = await Promise.all([waitBegan(moved), waitBegan(page)]);
				tally.time('countdown changed by', Math.abs(after - before), COUNTDOWN_MS, 'each');
				tally.time('countdowns differ by', Math.abs(after - other), COUNTDOWN_MS, 'each');
				const left = await Promise.all([moved, page].map((one) => secondsLeft(one)));
				tally.expect(Math.abs(left[0]! - left[1]!) <= 1, `${left.join(' s and ')} s left`);
				tally.runs++;
			}
		},
	);
}

/** When the wait began, by the length of the bar; on a clock that no page can move. */
const waitBegan = (page: Page) =>
	page.evaluate((delay) => {
		const bar = document.querySelector('[role=progressbar] i')!;
		const share = new DOMMatrix(getComputedStyle(bar).transform).a;
		return performance.timeOrigin + performance.now() - share * delay;
	}, DELAY_MS);

async function secondsLeft(page: Page) {
	const text = await page
		.getByRole('progressbar', { name: 'Retry' })
		.getAttribute('aria-valuetext');
	return Number.parseInt(text!, 10);
}

const html = (page: Page) => page.getByRole('log').innerHTML();
