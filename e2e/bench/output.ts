/** A command that prints 10 MB in 10 s. */
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright';
import type { ModelRequest, Reply } from '../../server/demo/provider.ts';
import { expect, seenAt, sleep, withBench } from '../faults/bench.ts';
import { bash, firstTurn } from '../holdfast.ts';
import { tasksDuring } from './main-thread.ts';
import { answered, teachPainted } from './painted.ts';
import { quantile, type Report, type Row } from './report.ts';
import { openPage } from './stage.ts';
import { TASK_LONGEST_MS, TASK_P99_MS } from './stream.ts';
import { Traffic } from './traffic.ts';

const PRINTER = fileURLToPath(new URL('print-lines.mjs', import.meta.url));
const BYTES_A_SECOND = 1_000_000;
const PRINTING_S = 10;
const STOPPED_AFTER_MS = 2_000;

export const output: Row[] = [{ name: 'output', run }];

const play = (request: ModelRequest): Reply =>
	firstTurn(request) ? [bash(request.messages.at(-1)!.text)] : [{ text: 'Done.', pace: 0 }];

const printing = (seconds: number) =>
	`'${process.execPath}' '${PRINTER}' ${BYTES_A_SECOND} ${seconds}`;

async function run(report: Report, browser: Browser) {
	await withBench(browser, play, { closed: true }, async (bench) => {
		const traffic = new Traffic();
		const { page, ui } = await openPage(bench, {
			prepare: async (page) => {
				await teachPainted(page);
				await traffic.follow(page);
			},
		});
		const before = traffic.received;
		await followTail(page);
		const tasks = await tasksDuring(browser, () => answered(page, printing(PRINTING_S)));
		const megabytes = (traffic.received - before) / 1e6;
		report.bytes('bytes to the browser for 10 MB of output in 10 s', megabytes, 'MB', 1.5);
		const ages = await page.evaluate(() => (window as unknown as { ages: number[] }).ages);
		report.absolute('age of the last line shown, p99', quantile(ages, 0.99), 'ms', 200);
		report.note('age of the last line shown, worst', quantile(ages, 1), 'ms');
		report.note('main thread: 10 MB of output', tasks.busy, 'ms');
		report.absolute('longest task, 10 MB of output, p99', tasks.p99, 'ms', TASK_P99_MS);
		report.absolute('longest task, 10 MB of output', tasks.longest, 'ms', TASK_LONGEST_MS);

		await ui.send(printing(60));
		await expect(ui.commands.nth(1).locator('pre')).toContainText('of a command');
		await sleep(STOPPED_AFTER_MS);
		const ended = seenAt(page, '[data-role=tool]:last-of-type .word', /stopped by you/);
		const began = await page.evaluate(() => {
			const buttons = [...document.querySelectorAll('button')];
			buttons.find((one) => one.textContent?.trim() === 'Stop command')!.click();
			return Date.now();
		});
		report.absolute('Stop, in the middle of it', (await ended) - began, 'ms', 1_000);
		await ui.rested();
	});
}

/** Has the page note, again and again while the command prints, how old the last line shown is. */
function followTail(page: Page) {
	return page.evaluate((printingMs) => {
		let began = 0;
		const ages: number[] = [];
		Object.assign(window, { ages });
		setInterval(() => {
			const tool = document.querySelector('[data-role=tool][data-state=running]');
			const text = tool?.querySelector('pre')?.textContent?.slice(-400) ?? '';
			const at = [...text.matchAll(/@(\d{13})/g)].at(-1)?.[1];
			if (at === undefined) return;
			began ||= Date.now();
			if (Date.now() < began + printingMs) ages.push(Date.now() - Number(at));
		}, 50);
	}, PRINTING_S * 900);
}
