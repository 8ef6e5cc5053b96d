import { expect, test } from './holdfast.ts';
import { longSession } from './long-session.ts';

const TURNS = 150;

test('a long conversation opens at its end, and what came earlier comes as one scrolls, without a jump', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start(() => [{ text: 'One more.' }]);
	await page.goto(holdfast.url);
	const frames: string[] = [];
	page.on('websocket', (socket) =>
		socket.on('framereceived', ({ payload }) => frames.push(String(payload))),
	);
	await page.goto(longSession(holdfast, TURNS));

	await expect(ui.answers.last()).toContainText(`Answer ${TURNS}.`);
	await expect(ui.prompts.last()).toBeInViewport();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Question 1.');
	await expect(page).toHaveTitle('Question 1. · Holdfast');
	await expect(page.getByText('Question 100.')).toHaveCount(0);
	expect(Math.max(...frames.map((frame) => frame.length))).toBeLessThan(20_000);

	// Time and again the reader comes near the first message that is there.
	for (let question = TURNS; question > 1;) {
		const before = await ui.prompts.count();
		const reading = ui.prompts.first();
		const text = (await reading.locator('p').textContent())!;
		await reading.evaluate((element) => element.scrollIntoView());
		await expect.poll(() => ui.prompts.count()).toBeGreaterThan(before);
		await expect(ui.prompts.filter({ hasText: text })).toBeInViewport();
		const { y } = (await ui.prompts.getByText(text, { exact: true }).boundingBox())!;
		const top = (await ui.log.boundingBox())!.y;
		expect(Math.abs(y - top)).toBeLessThan(100);
		question = Number(/\d+/.exec((await ui.prompts.first().locator('p').textContent())!)![0]);
	}
	await expect(ui.prompts).toHaveCount(TURNS);
	await expect(ui.button('Earlier messages')).toHaveCount(0);

	await ui.button('To the end').click();
	await expect(ui.answers.last()).toBeInViewport();
	await ui.send('And one more?');
	await expect(ui.answers.last()).toHaveText('One more.');
	await expect(ui.answers.last()).toBeInViewport();
	const questions = await ui.prompts.locator('p').allTextContents();
	expect(questions).toEqual([
		...Array.from({ length: TURNS }, (_, index) => `Question ${index + 1}.`),
		'And one more?',
	]);
});

test('earlier messages come by keyboard, and a request that failed can be made again', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start(() => [{ text: 'One more.' }]);
	let answering = false;
	let connected = true;
	const sockets = new Set<{ close(): Promise<void> }>();
	await page.routeWebSocket(/.*/, (socket) => {
		if (!connected) return void socket.close();
		const server = socket.connectToServer();
		sockets.add(socket);
		socket.onMessage((frame) => {
			if (answering || !String(frame).includes('"earlier"')) server.send(frame);
		});
	});
	await page.goto(holdfast.url);
	await page.goto(longSession(holdfast, TURNS));
	await expect(ui.answers.last()).toContainText(`Answer ${TURNS}.`);
	await ui.button('Earlier messages').focus();
	await expect(ui.button('Loading earlier messages…')).toBeFocused();

	connected = false;
	for (const socket of sockets) await socket.close();
	await expect(page.getByText('Reconnecting…')).toBeVisible();
	await page.keyboard.press('Enter');
	await expect(page.getByText('They could not be loaded: there is no connection.')).toBeVisible();

	const before = await ui.prompts.count();
	answering = connected = true;
	await expect(page.getByText('Reconnecting…')).toHaveCount(0);
	await expect(page.getByText('They could not be loaded')).toHaveCount(0);
	await expect.poll(() => ui.prompts.count()).toBeGreaterThan(before);
});
