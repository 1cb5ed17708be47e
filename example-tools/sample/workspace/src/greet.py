def greet(name):
    # TODO: greet in the user's language
    return "Hello, " + name


def farewell(name):
    # TODO: say it with feeling
    return "Bye, " + name
