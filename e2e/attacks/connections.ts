import { connect, type Socket } from 'node:net';
import type { Page } from 'playwright';
import type { Report } from './report.ts';
import { expect, openPage, ready, type Stage } from './stage.ts';

const HALF_OPEN = 1_000;
const ANSWER_MS = 1_000;
const QUESTIONS = 10;

/** What a connection begins with that never ends what it began. */
const BEGINNINGS = [
	'',
	'GET / HTTP/1.1\r\nHost: 127.0.0.1',
	'POST /api/login HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nContent-Length: 100\r\n\r\n{',
	'GET / HTTP/1.1\r\nHost: HOST\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n',
];

export async function connections(report: Report, stage: Stage) {
	const { target, slack } = stage;
	const { context, page } = await openPage(stage);
	const sockets: Socket[] = [];
	try {
		const host = `127.0.0.1:${target.port}`;
		const all = Array.from({ length: HALF_OPEN }, (_, index) => {
			const socket = connect(target.port, '127.0.0.1');
			sockets.push(socket);
			// It may be cut off at any time.
			socket.on('error', () => {});
			return new Promise<void>((resolve) => {
				socket.once('close', () => resolve());
				socket.once('connect', () =>
					socket.write(BEGINNINGS[index % BEGINNINGS.length]!.replaceAll('HOST', host), () =>
						resolve(),
					),
				);
			});
		});
		await Promise.all(all);
		report.begin(`${HALF_OPEN} half-open connections`);
		let worst = 0;
		for (let count = 0; count < QUESTIONS; count++) worst = Math.max(worst, await ask(page));
		const limit = ANSWER_MS * slack;
		report.line(
			`a page that is logged in, asked ${QUESTIONS} times`,
			`within ${limit} ms`,
			worst <= limit ? `within ${limit} ms` : `${worst.toFixed(0)} ms`,
		);
		await page.reload();
		await ready(page);
		report.line('the page, loaded again', 'ready', 'ready');
		const stranger = await stage.browser.newContext();
		const other = await stranger.newPage();
		await other.goto(target.holdfast.address());
		await ready(other);
		report.line('another browser that is let in', 'ready', 'ready');
		await stranger.close();
		const held = sockets.filter((socket) => !socket.destroyed).length;
		report.line('of them, held', 'at most 200', held <= 200 ? 'at most 200' : String(held));
	} finally {
		for (const socket of sockets) socket.destroy();
		await context.close();
	}
}

/** From a click to what it changes, which goes through the proxy; in ms. */
async function ask(page: Page): Promise<number> {
	const retries = page.getByRole('switch', { name: 'Retry automatically' });
	await expect(retries).toBeEnabled();
	return retries.evaluate((button: HTMLButtonElement) => {
		const before = button.getAttribute('aria-checked');
		return new Promise<number>((resolve) => {
			const began = performance.now();
			const observer = new MutationObserver(() => {
				if (button.getAttribute('aria-checked') === before) return;
				observer.disconnect();
				resolve(performance.now() - began);
			});
			observer.observe(button, { attributes: true });
			button.click();
		});
	});
}
