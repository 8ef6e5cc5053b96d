/** Sessions of many messages: opened, looked at, scrolled, gone on with. */
import type { Browser, Page } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { sleep, withBench, type Bench } from '../faults/bench.ts';
import { sessionFiles } from '../faults/session-file.ts';
import { bash, firstTurn } from '../holdfast.ts';
import { asAsked, END, markdown } from './answer.ts';
import { lengthen } from './long-session.ts';
import { tasksDuring } from './main-thread.ts';
import { answered, expectPainted, shownAfter, teachPainted } from './painted.ts';
import { quantile, type Report, type Row } from './report.ts';
import { openPage, sessionOf } from './stage.ts';
import { Traffic } from './traffic.ts';

const SIZES = [100, 500, 2_000, 10_000];
const OPEN_MS: Record<number, number> = { 2_000: 300, 10_000: 1_000 };
const HEAP_MB = 10;
const IDLE_MS = 4_000;
const FRAME_MS = 50;
const SCROLLED_PX = 12_000;
const SCROLL_PX_A_SECOND = 3_000;
const STREAM = '20 KB, 10 ms apart';
/** What two measurements of the same differ by. */
const AS_CHEAP = 1.2;

export const sessions: Row[] = [{ name: 'sessions', run }];

/** Four messages, of which the long sessions are made; then what is asked for. */
function play(request: ModelRequest): Reply {
	const { text } = request.messages.at(-1)!;
	if (text.includes('ms apart')) return asAsked(request);
	return firstTurn(request)
		? [{ text: 'I look first.', pace: 0 }, bash('seq 1 12')]
		: [{ text: markdown(600).replace(END, 'Done here.'), pace: 0 }];
}

async function run(report: Report, browser: Browser) {
	await withBench(browser, play, { closed: true }, async (bench) => {
		const first = await openPage(bench, { prepare: teachPainted });
		await answered(first.page, 'What is in the second part of it, and why?');
		const session = sessionOf(first.page);
		const original = sessionFiles(bench.folder).find((file) => file.includes(session))!;
		await first.page.close();

		const weights = new Map<number, { heap: number; nodes: number }>();
		for (const size of SIZES) {
			const id = lengthen(original, size, END);
			const shown = size.toLocaleString('en');
			const cold = await opened(bench, id);
			report.note(`${shown} messages: opened, Pi not yet running`, await shownAfter(cold), 'ms');
			await cold.close();

			const traffic = new Traffic();
			const page = await opened(bench, id, traffic);
			const time = await shownAfter(page);
			report.point('ms to open a session of so many messages', size, time);
			const budget = OPEN_MS[size];
			if (budget !== undefined) {
				report.absolute(`${shown} messages: open to last painted`, time, 'ms', budget);
				weights.set(size, await weigh(report, page, traffic, shown));
				await scroll(report, page, shown);
				await gone(report, browser, bench, page, shown);
			}
			await page.close();
		}
		const [small, large] = [weights.get(2_000)!, weights.get(10_000)!];
		report.growth('heap: 10,000 messages / 2,000', large.heap / small.heap, 2);
		report.growth('DOM nodes: 10,000 messages / 2,000', large.nodes / small.nodes, 2);
	});
}

async function opened(bench: Bench, session: string, traffic?: Traffic): Promise<Page> {
	const { page } = await openPage(bench, {
		session,
		prepare: async (page) => {
			await expectPainted(page, END);
			await traffic?.follow(page);
		},
	});
	return page;
}

/** What the page is when it has come to rest. */
async function weigh(report: Report, page: Page, traffic: Traffic, size: string) {
	await sleep(1_500);
	const before = traffic.frames;
	await sleep(IDLE_MS);
	const frames = traffic.frames - before;
	report.bytes(
		`${size} messages: frames over the socket in ${IDLE_MS / 1000} idle s`,
		frames,
		'',
		0,
	);

	const cdp = await page.context().newCDPSession(page);
	await cdp.send('HeapProfiler.enable');
	await cdp.send('HeapProfiler.collectGarbage');
	const { usedSize } = await cdp.send('Runtime.getHeapUsage');
	const { nodes } = await cdp.send('Memory.getDOMCounters');
	await cdp.detach();
	report.bytes(`${size} messages: heap`, usedSize / 1e6, 'MB', HEAP_MB);
	report.note(`${size} messages: DOM nodes`, nodes, '');
	return { heap: usedSize, nodes };
}

/** From the end up and down again. */
async function scroll(report: Report, page: Page, size: string) {
	await page.evaluate(() => {
		const frames: number[] = [];
		Object.assign(window, { frames });
		let before = performance.now();
		const frame = (now: number) => {
			frames.push(now - before);
			before = now;
			requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame);
	});
	const cdp = await page.context().newCDPSession(page);
	const { width, height } = page.viewportSize()!;
	for (const direction of [1, -1]) {
		await cdp.send('Input.synthesizeScrollGesture', {
			x: width * 0.6,
			y: height / 2,
			yDistance: direction * SCROLLED_PX,
			speed: SCROLL_PX_A_SECOND,
			gestureSourceType: 'mouse',
		});
	}
	await cdp.detach();
	const frames = await page.evaluate(() => (window as unknown as { frames: number[] }).frames);
	const slow = frames.filter((length) => length > FRAME_MS).length;
	report.absolute(`${size} messages: scrolled, frames over ${FRAME_MS} ms`, slow, '', 0);
	report.note(`${size} messages: scrolled, longest frame`, quantile(frames, 1), 'ms');
}

/** The same answer at the tail of the session and in an empty one. */
async function gone(report: Report, browser: Browser, bench: Bench, page: Page, size: string) {
	await page.reload();
	await shownAfter(page);
	const tail = await tasksDuring(browser, () => answered(page, STREAM));
	await page.goto('about:blank');
	const empty = await openPage(bench, { prepare: teachPainted });
	const alone = await tasksDuring(browser, () => answered(empty.page, STREAM));
	await empty.page.close();
	report.ratio(
		`${size} messages: main thread streaming at the tail / in an empty session`,
		tail.busy / alone.busy,
		AS_CHEAP,
	);
}
