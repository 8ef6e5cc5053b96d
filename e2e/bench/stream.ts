/** Answers that stream: what they cost the wire and the page. */
import type { Browser, Page } from 'playwright';
import { expect, withBench, type Bench } from '../faults/bench.ts';
import { asAsked, END, KB } from './answer.ts';
import { tasksDuring } from './main-thread.ts';
import { answered, teachPainted } from './painted.ts';
import type { Report, Row } from './report.ts';
import { openPage, sessionOf } from './stage.ts';
import { Traffic } from './traffic.ts';

const SIZES_KB = [50, 100, 200, 400];
/** About twice as fast as the fastest models write. */
const PACE_MS = 2;
export const TASK_P99_MS = 50;
export const TASK_LONGEST_MS = 100;

export const stream: Row[] = [
	{ name: 'stream', run: sizes },
	{ name: 'burst', run: burst },
	{ name: 'steady', run: steady },
];

async function sizes(report: Report, browser: Browser) {
	await withBench(browser, asAsked, { closed: true }, async (bench) => {
		const busy = new Map<number, number>();
		for (const size of SIZES_KB) {
			const { page, traffic } = await conversation(bench);
			const before = traffic.received;
			const tasks = await tasksDuring(browser, () =>
				answered(page, `${size} KB, ${PACE_MS} ms apart`),
			);
			await wholeAnswer(page);
			busy.set(size, tasks.busy);
			report.point('main-thread ms for an answer of so many KB', size, tasks.busy);
			if (size === 200) {
				const ratio = (traffic.received - before) / (size * KB);
				report.ratio(
					`bytes to the browser for 200 KB in 4,000 deltas, ${PACE_MS} ms apart`,
					ratio,
					1.15,
				);
				const session = sessionOf(page);
				await page.close();
				const once = await renderedOnce(bench, browser, session);
				report.note('main thread: 200 KB streamed', tasks.busy, 'ms');
				report.note('main thread: the same rendered once', once, 'ms');
				report.ratio('main thread: 200 KB streamed / rendered once', tasks.busy / once, 3);
				report.absolute('longest task, 200 KB streamed, p99', tasks.p99, 'ms', TASK_P99_MS);
				report.absolute('longest task, 200 KB streamed', tasks.longest, 'ms', TASK_LONGEST_MS);
			}
			await page.close();
		}
		report.growth('main thread: 400 KB / 200 KB', busy.get(400)! / busy.get(200)!, 2.3);
	});
}

async function burst(report: Report, browser: Browser) {
	await withBench(browser, asAsked, { closed: true }, async (bench) => {
		const { page, traffic } = await conversation(bench);
		const before = traffic.received;
		let seen = { first: 0, last: 0 };
		const tasks = await tasksDuring(browser, async () => {
			seen = await answered(page, '200 KB, 0 ms apart');
		});
		await wholeAnswer(page);
		const ratio = (traffic.received - before) / (200 * KB);
		report.ratio('bytes to the browser for 200 KB in 4,000 deltas, one burst', ratio, 1.15);
		report.absolute('main thread: 200 KB in one burst', tasks.busy / 1000, 's', 1);
		report.absolute('first to last painted, one burst', (seen.last - seen.first) / 1000, 's', 0.6);
		report.absolute('longest task, one burst, p99', tasks.p99, 'ms', TASK_P99_MS);
		report.absolute('longest task, one burst', tasks.longest, 'ms', TASK_LONGEST_MS);
	});
}

async function steady(report: Report, browser: Browser) {
	await withBench(browser, asAsked, { closed: true }, async (bench) => {
		const { page, traffic } = await conversation(bench);
		const before = traffic.received;
		const tasks = await tasksDuring(browser, () => answered(page, '50 KB, 10 ms apart'));
		await wholeAnswer(page);
		report.absolute('main thread: 50 KB, deltas 10 ms apart', tasks.busy / 1000, 's', 2);
		report.absolute('longest task, 10 ms apart, p99', tasks.p99, 'ms', TASK_P99_MS);
		report.absolute('longest task, 10 ms apart', tasks.longest, 'ms', TASK_LONGEST_MS);
		const ratio = (traffic.received - before) / (50 * KB);
		report.ratio('bytes to the browser / text, 10 ms apart', ratio, null);
	});
}

/** A new conversation in a page of its own. */
async function conversation(bench: Bench) {
	const traffic = new Traffic();
	const { page, ui } = await openPage(bench, {
		prepare: async (page) => {
			await teachPainted(page);
			await traffic.follow(page);
		},
	});
	return { page, ui, traffic };
}

async function wholeAnswer(page: Page) {
	await expect(page.locator('[data-role=assistant]').last()).toContainText(END);
}

/** Opens the session from the list of a page that is at rest; its main thread until it is painted. */
async function renderedOnce(bench: Bench, browser: Browser, session: string): Promise<number> {
	const { page } = await conversation(bench);
	await expect(page.locator(`a[href*="${session}"]`)).toBeVisible();
	const { busy } = await tasksDuring(browser, () =>
		page.evaluate(
			([session, text]) =>
				new Promise<void>((resolve) => {
					const { painted } = window as unknown as { painted(): Promise<number> };
					const observer = new MutationObserver(() => {
						const last = [...document.querySelectorAll('[data-role=assistant]')].at(-1);
						if (!last?.textContent?.includes(text)) return;
						observer.disconnect();
						void painted()
							.then(painted)
							.then(() => resolve());
					});
					observer.observe(document.body, { childList: true, subtree: true });
					document.querySelector<HTMLElement>(`a[href*="${session}"]`)!.click();
				}),
			[session, END] as const,
		),
	);
	await page.close();
	return busy;
}
