/** A delta that comes alone: from the provider's write to its being painted. */
import type { Browser, Page } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { withBench } from '../faults/bench.ts';
import { inDeltas } from './answer.ts';
import { answered, teachPainted } from './painted.ts';
import { median, quantile, type Report, type Row } from './report.ts';
import { openPage, openTab, sessionOf } from './stage.ts';

const DELTAS = 120;
const APART_MS = 100;
/** The first ones pay for code that runs for the first time. */
const WARM_UP = 10;

export const latency: Row[] = [{ name: 'latency', run }];

async function run(report: Report, browser: Browser) {
	const written: number[] = [];
	const words = Array.from({ length: DELTAS }, (_, index) => `w${index} `);
	const play = ({ messages }: ModelRequest): Reply =>
		messages.length === 1
			? [{ text: 'Hello.' }]
			: inDeltas(words, APART_MS, (at) => written.push(at));
	await withBench(browser, play, { closed: true }, async (bench) => {
		const { page } = await openPage(bench, { prepare: teachPainted });
		await answered(page, 'Hello.');
		const tab = await openTab(bench, sessionOf(page));
		await noteWords(page);
		await answered(page, 'Slowly, please.');
		const painted = await page.evaluate(
			() => (window as unknown as { words: Record<string, number> }).words,
		);
		const delays = written.map((at, index) => painted[words[index]!.trim()]! - at).slice(WARM_UP);
		const arrivals = tab.frames.map(({ arrived }) => performance.timeOrigin + arrived);
		const onTheWire = written.slice(WARM_UP).map((at) => arrivals.find((one) => one > at)! - at);
		tab.close();
		report.note('one delta, written to the browser end of the socket', median(onTheWire), 'ms');
		report.absolute('one delta, written to painted, median', quantile(delays, 0.5), 'ms', 5);
		report.absolute('one delta, written to painted, p95', quantile(delays, 0.95), 'ms', 17);
	});
}

/** Has the page note when each word was painted; two that come together are painted together. */
function noteWords(page: Page) {
	return page.evaluate(() => {
		const { painted } = window as unknown as { painted(): Promise<number> };
		const words: Record<string, number> = {};
		Object.assign(window, { words });
		let known = -1;
		const observer = new MutationObserver(() => {
			const answer = [...document.querySelectorAll('[data-role=assistant]')].at(-1);
			const last = Number(/w(\d+)\s*$/.exec(answer?.textContent ?? '')?.[1] ?? -1);
			const from = known + 1;
			if (last < from) return;
			known = last;
			void painted().then((at) => {
				for (let word = from; word <= last; word++) words[`w${word}`] = at;
			});
		});
		observer.observe(document.querySelector('[role=log]')!, {
			childList: true,
			subtree: true,
			characterData: true,
		});
	});
}
